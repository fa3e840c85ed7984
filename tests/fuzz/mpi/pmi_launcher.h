#ifndef MUSTER_TESTS_FUZZ_MPI_PMI_LAUNCHER_H_
#define MUSTER_TESTS_FUZZ_MPI_PMI_LAUNCHER_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/launcher/pmi/engine.h"
#include "tests/fuzz/mpi/fuzzed_launcher.h"
#include "tests/fuzz/mpi/pmi_program.h"

namespace muster::fuzz {

// A launcher with pmi::Engine: what PmiServer does around it.
class PmiLauncher : public FuzzedLauncher {
 public:
  // Both pointers must outlive this object.
  PmiLauncher(MpiWorld* world, PmiRecord* record, int node);

  void StepRank(int local_rank) override;
  void Warn() override;

 protected:
  std::optional<launcher::MpiFault> EngineEnded(int local_rank,
                                                const launcher::ProcessEnd& end) override;
  void OnFormed(const std::string& name) override;
  void OnExchanged(const std::string& exchange, const std::vector<std::string>& parts) override;
  void OnBroken(const std::string& why) override;
  bool SettleRank(int local_rank) override;
  bool IsDone(int local_rank) const override { return programs_[local_rank].done(); }

 private:
  // The connection of a rank's process, as its end sees it.
  struct Connection {
    std::string unsent;   // by an honest rank, which sends it in pieces
    bool closed = false;  // by the rank
    std::string line;     // the rest of what was sent, without a newline
    int entered = 0;      // barriers
    size_t accepted_puts = 0;
    size_t next_hasty = 0;  // of a dishonest rank: its next line of kHastyProgram
  };

  void StepHonest(int local_rank, size_t most);
  void StepDishonest(int local_rank);
  void Send(int local_rank, absl::string_view bytes);
  void NoteSent(int local_rank, absl::string_view bytes);
  void CarryOut(const launcher::pmi::Effects& effects);
  void Answer(int local_rank, const std::string& line);

  PmiRecord* const record_;
  launcher::pmi::Engine engine_;
  std::vector<PmiProgram> programs_;     // by local rank
  std::vector<Connection> connections_;  // by local rank
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_PMI_LAUNCHER_H_
