#ifndef MUSTER_TESTS_GPU_GPU_RANKS_H_
#define MUSTER_TESTS_GPU_GPU_RANKS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"

namespace muster::gpu {

// Returns variables that let several processes be NCCL ranks on one GPU. NCCL takes each process
// for another host, and they talk over the loopback interface.
std::map<std::string, std::string> SharedGpuEnvironment();

// Shows a process's output as it comes, indented, line by line.
class Echo {
 public:
  explicit Echo(const testing::Process& process) : process_(process) {}
  void ShowNew();

 private:
  const testing::Process& process_;
  size_t shown_ = 0;
};

// The processes of one job, all on GPU 0, with their coordinator.
class Ranks {
 public:
  // Starts ranks that run `command`. If the coordinator does not start, fails the test and returns
  // null.
  static std::unique_ptr<Ranks> Start(int size, const std::vector<std::string>& command);

  // Shows rank 0's output until all ranks have ended, and returns how each ended. At the time-out,
  // fails the test, and kills ranks that have not ended.
  std::vector<testing::Exit> Wait(absl::Duration timeout);

  // Returns the output of all ranks but rank 0.
  std::string OthersOutput() const;

 private:
  Ranks() = default;
  bool Running();

  std::unique_ptr<testing::TestDaemon> daemon_;
  std::vector<std::unique_ptr<testing::Process>> processes_;
};

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_GPU_RANKS_H_
