#ifndef MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_
#define MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::testing {

constexpr Exit kDone{false, 0};
constexpr Exit kError{false, 3};

// A daemon and the ranks of its job: processes of the program nccl_rank, on one node, with the fake
// libraries.
class NcclJob {
 public:
  using Environment = std::map<std::string, std::string>;

  // `faults` by rank are FAKE_NCCL_FAULTS of each; `env` is for all.
  static std::unique_ptr<NcclJob> Start(int size, const std::vector<std::string>& arguments,
                                        const Environment& env = {},
                                        const std::map<int, Environment>& env_by_rank = {});

  Process& operator[](int rank) { return *ranks_[rank]; }
  int size() const { return static_cast<int>(ranks_.size()); }

  // Expects every rank to end so.
  void ExpectAll(const Exit& exit);
  // Expects it of one rank, and returns its output.
  std::string OutputOf(int rank, const Exit& exit);

  // "rank 1 (node ..., pid 4711)", as errors name it.
  std::string NameOf(int rank) const;
  // How the job's error about the loss of a rank begins; its host and pid follow.
  std::string LossOf(int rank) const;

 private:
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Process>> ranks_;
};

// The same for one rank, whose FAKE_NCCL_FAULTS are given.
std::map<int, NcclJob::Environment> FaultOf(int rank, const std::string& faults);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_NCCL_NCCL_JOB_H_
