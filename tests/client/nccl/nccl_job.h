#ifndef MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_
#define MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/util/job/ranks.h"

namespace muster::testing {

// A job on one node whose ranks run the program nccl_rank with the fake libraries, or
// real_nccl_rank in a test on NCCL itself (tests/nccl/libraries.h).
//
//   auto job = NcclJob::Start(3, {"one-split", "absent=1"});
//   job->ExpectAll(kRankError);
class NcclJob {
 public:
  // Starts the ranks. `scenario` is its name and its details (nccl_scenario.h). `env` is for all
  // ranks, and `env_by_rank` for single ones.
  static std::unique_ptr<NcclJob> Start(int size, const Args& scenario, const Variables& env = {},
                                        const std::map<int, Variables>& env_by_rank = {},
                                        const Args& daemon_flags = {"--member-grace=300ms"});

  Process& operator[](int rank) { return ranks_[rank]; }
  int size() const { return ranks_.size(); }

  // Waits for all ranks, and expects that each ends like this.
  void ExpectAll(const Exit& exit);
  // Waits for one rank, expects that it ends like this, and returns its output.
  std::string OutputOf(int rank, const Exit& exit);

  // Returns "rank 1 (node ..., pid 4711)", as errors name it.
  std::string NameOf(int rank) const;
  // Returns the beginning of the job's error about the loss of a rank. The host and pid follow.
  std::string LossOf(int rank) const;

 private:
  explicit NcclJob(Ranks ranks) : ranks_(std::move(ranks)) {}

  Ranks ranks_;
};

// For ranks whose initialization of a communicator fails. NCCL leaks what such a communicator holds
// (tests/nccl/real/README.md), so these ranks do not look for leaks.
inline const Variables kNcclLeaksHere = {{"ASAN_OPTIONS", "detect_leaks=0"}};

// Returns the variables of one rank with faults of the fake NCCL, or with faults of nccl_faults.cc.
std::map<int, Variables> FaultOf(int rank, const std::string& faults);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_
