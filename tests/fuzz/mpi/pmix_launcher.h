#ifndef MUSTER_TESTS_FUZZ_MPI_PMIX_LAUNCHER_H_
#define MUSTER_TESTS_FUZZ_MPI_PMIX_LAUNCHER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/launcher/pmix/engine.h"
#include "tests/fuzz/mpi/fuzzed_launcher.h"
#include "tests/fuzz/mpi/pmix_program.h"

namespace muster::fuzz {

// A launcher with pmix::Engine: what PmixServer does around it, and what libpmix does below.
// libpmix counts the ranks in a fence, without those whose process has ended, and holds their data.
class PmixLauncher : public FuzzedLauncher {
 public:
  // Both pointers must outlive this object.
  PmixLauncher(MpiWorld* world, PmixRecord* record, int node);

  void StepRank(int local_rank) override;
  void Warn() override;

 protected:
  std::optional<launcher::MpiFault> EngineEnded(int local_rank,
                                                const launcher::ProcessEnd& end) override;
  void OnFormed(const std::string& name) override;
  void OnExchanged(const std::string& exchange, const std::vector<std::string>& parts) override;
  void OnAsked(int rank) override { asked_.push_back(rank); }
  void OnAnswered(int rank, const std::optional<std::string>& data) override;
  void OnBroken(const std::string& why) override;
  void OnExit() override;
  bool SettleRank(int local_rank) override;
  bool IsDone(int local_rank) const override { return programs_[local_rank].done(); }

 private:
  // A fence for which libpmix waits for further ranks of this node.
  struct Fence {
    std::vector<int> local_ranks;  // that have come
    std::string data;
  };

  bool StepHonest(int local_rank);
  void StepDishonest(int local_rank);
  void Call(MusterPmixCall call, int local_rank, int code = 0, const std::string& text = "");
  void EnterFence(int local_rank, const FenceRanks& ranks, const std::string& data);
  void CompleteFences();
  void AnswerQuestions();
  FenceRanks RandomRanks(int with);
  // Passes a request to the engine. The ranks wait for its answer, if it has a ticket.
  void Send(launcher::pmix::Request request, std::vector<int> waiting);
  void CarryOut(const launcher::pmix::Effects& effects);
  void Take(const launcher::pmix::Answer& answer);

  PmixRecord* const record_;
  launcher::pmix::Engine engine_;
  std::vector<PmixProgram> programs_;  // by local rank
  std::vector<bool> connected_;        // by local rank
  std::map<FenceRanks, Fence> fences_;
  std::map<uintptr_t, std::vector<int>> tickets_;  // without an answer: the local ranks that wait
  uintptr_t last_ticket_ = 0;
  std::vector<int> asked_;  // ranks of this node, whose data other nodes want
  bool looks_ = false;      // the engine has asked which ranks wait
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_PMIX_LAUNCHER_H_
