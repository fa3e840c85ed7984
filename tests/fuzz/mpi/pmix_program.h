#ifndef MUSTER_TESTS_FUZZ_MPI_PMIX_PROGRAM_H_
#define MUSTER_TESTS_FUZZ_MPI_PMIX_PROGRAM_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/mpi/mpi_world.h"

namespace muster::fuzz {

// The ranks of a fence, ascending. Empty: all.
using FenceRanks = std::vector<int>;

// The deeds of the ranks of a world of PMIx, for the checks of honest ones.
struct PmixRecord {
  // Lets the input choose the program.
  explicit PmixRecord(const MpiWorld* the_world);

  // Returns what an honest rank contributes to its fence of this number, of these ranks.
  static std::string ContributionOf(int rank, const FenceRanks& ranks, int number);
  // Returns the data of a rank, for ranks of other nodes that ask for them.
  static std::string DataOf(int rank);

  const MpiWorld* const world;
  // The fences of the honest program, in order. A fence of some ranks is one of honest ranks,
  // because no node knows that others wait for one of its ranks that has left MPI, unless all of
  // its ranks have.
  std::vector<FenceRanks> fences;
  // How often each rank has come to a fence of these ranks. A launcher that was killed, and the one
  // in its place, may both have had a process of it.
  std::map<FenceRanks, std::map<int, int>> entered;
};

// An honest program: PMIx_Init(), fences in which it takes part, each followed by a question for
// the data of another rank, and PMIx_Finalize(). It checks the answers.
class PmixProgram {
 public:
  enum class Call { kInit, kFence, kModex, kFinalize };
  struct Next {
    Call call;
    FenceRanks ranks = {};  // of a fence
    std::string data = {};  // of a fence
    int rank = 0;           // of a modex
  };

  // `record` must outlive this object.
  PmixProgram(const PmixRecord* record, int rank) : record_(record), rank_(rank) {}

  // Returns the next call; nullopt if it waits for an answer, or is done.
  std::optional<Next> TakeNext();
  void Receive(bool accepted, const std::string& data);
  bool done() const { return done_; }

 private:
  bool TakesPart() const;
  void CheckFence(const std::string& data) const;

  const PmixRecord* const record_;
  const int rank_;
  Call call_ = Call::kInit;
  size_t fence_ = 0;  // its place in record_->fences
  std::map<FenceRanks, int> numbers_;
  int asked_ = 0;  // the rank whose data it asks for
  bool waits_ = false;
  bool done_ = false;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MPI_PMIX_PROGRAM_H_
