#ifndef MUSTER_TESTS_FUZZ_MPI_PMI_PROGRAM_H_
#define MUSTER_TESTS_FUZZ_MPI_PMI_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/mpi/mpi_world.h"

namespace muster::fuzz {

// The deeds of the ranks of a world of PMI-1, for the checks of honest ones.
struct PmiRecord {
  explicit PmiRecord(const MpiWorld* the_world)
      : world(the_world), entered(the_world->size()), names(the_world->size()) {}

  // Returns the value that an honest rank puts in this round, as on the wire.
  static std::string ValueOf(int rank, int round);

  const MpiWorld* const world;
  int rounds = 1;  // of every honest program
  // By rank. A launcher that was killed, and the one in its place, may both have had a process of
  // it.
  std::vector<int> entered;        // barriers of one of them
  std::vector<std::string> names;  // the world's, as the latest of them knows it
  bool spoilt = false;             // a dishonest rank may have put what an honest one puts
};

// An honest program: what MPI_Init() of MPICH sends, then rounds in which each rank puts values,
// waits for the others and gets theirs. It checks the answers.
class PmiProgram {
 public:
  // `record` must outlive this object.
  PmiProgram(PmiRecord* record, int rank) : record_(record), rank_(rank) {}

  // Returns the next line to send; nullopt if it waits for an answer, or is done.
  std::optional<std::string> Next();
  void Receive(const std::string& line);
  bool done() const { return done_; }

 private:
  enum class Step {
    kInit,
    kMaxes,
    kSize,
    kName,
    kMapping,
    kPut,
    kPutAgain,
    kBarrier,
    kGet,
    kGetAgain,
    kGetMissing,
    kFinalize
  };

  void CheckBarrier() const;
  // Returns the step after this one, whose answer has come.
  Step After();
  int other() const { return next_rank_; }

  PmiRecord* const record_;
  const int rank_;
  Step step_ = Step::kInit;
  int round_ = 1;
  int next_rank_ = 0;  // whose values it gets
  bool waits_ = false;
  bool done_ = false;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_PMI_PROGRAM_H_
