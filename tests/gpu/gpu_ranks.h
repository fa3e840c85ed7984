#ifndef MUSTER_TESTS_GPU_GPU_RANKS_H_
#define MUSTER_TESTS_GPU_GPU_RANKS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::gpu {

// What lets several processes be NCCL ranks on one GPU: NCCL takes each for another host, and they
// talk over the loopback interface.
std::map<std::string, std::string> SharedGpuEnvironment();

// Shows what a process writes, line by line and indented, as it comes.
class Echo {
 public:
  explicit Echo(const testing::Process& process) : process_(process) {}
  void ShowNew();

 private:
  const testing::Process& process_;
  size_t shown_ = 0;
};

// The processes of one job, all on GPU 0, and its coordinator.
class Ranks {
 public:
  // `command` is what each rank runs. Null, and a test failure, if the coordinator does not start.
  static std::unique_ptr<Ranks> Start(int size, const std::vector<std::string>& command);

  // Shows rank 0's output until all have ended, and returns how each did. Ranks that have not ended
  // at the time-out are a test failure, and killed.
  std::vector<testing::Exit> Wait(absl::Duration timeout);

  // What the ranks but 0 have written.
  std::string OthersOutput() const;

 private:
  Ranks() = default;
  bool Running();

  std::unique_ptr<testing::TestDaemon> daemon_;
  std::vector<std::unique_ptr<testing::Process>> processes_;
};

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_GPU_RANKS_H_
