#ifndef MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_
#define MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tests/util/ranks.h"

namespace muster::testing {

// The ranks of a job that run the program nccl_rank on one node, with the fake libraries, or
// real_nccl_rank where the test is on NCCL itself (tests/nccl/libraries.h).
class NcclJob {
 public:
  // `scenario`: its name and its details (nccl_scenario.h). `env` is for all, `env_by_rank` for
  // one.
  static std::unique_ptr<NcclJob> Start(int size, const Words& scenario, const Variables& env = {},
                                        const std::map<int, Variables>& env_by_rank = {},
                                        const Words& daemon_flags = {"--member-grace=300ms"});

  Process& operator[](int rank) { return ranks_[rank]; }
  int size() const { return ranks_.size(); }

  // Expects every rank to end so.
  void ExpectAll(const Exit& exit);
  // Expects it of one rank, and returns its output.
  std::string OutputOf(int rank, const Exit& exit);

  // "rank 1 (node ..., pid 4711)", as errors name it.
  std::string NameOf(int rank) const;
  // How the job's error about the loss of a rank begins; its host and pid follow.
  std::string LossOf(int rank) const;

 private:
  explicit NcclJob(Ranks ranks) : ranks_(std::move(ranks)) {}

  Ranks ranks_;
};

// For ranks whose communicators fail in their initialization: NCCL does not free those
// (tests/nccl/real/README.md), so these ranks do not look for leaks.
inline const Variables kNcclLeaksHere = {{"ASAN_OPTIONS", "detect_leaks=0"}};

// The variables of one rank with faults: of the fake NCCL, or of those that nccl_faults.cc has.
std::map<int, Variables> FaultOf(int rank, const std::string& faults);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_
