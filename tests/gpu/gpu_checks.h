#ifndef MUSTER_TESTS_GPU_GPU_CHECKS_H_
#define MUSTER_TESTS_GPU_GPU_CHECKS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "muster/job.h"

namespace muster::gpu {

// What gpu_test tells the ranks.
struct RankFlags {
  size_t max_bytes = size_t{64} << 20;  // largest buffer
  int rounds = 100;                     // of creating and destroying
  double seconds = 3;                   // that measuring one size may take
  bool quick = false;                   // few types and operations
  bool judge = false;                   // a figure over its limit is an error
  std::string scratch;                  // folder that all ranks share
  std::string second_coordinator;       // for a second job
  std::string profiler_plugin;          // the library's path
};

// One rank's part of each check. The first error is the check's; rank 0 prints the figures.

// Every type and operation against what the CPU makes of the same input.
absl::Status CheckValues(Job& job, const RankFlags& flags);

// Communicator with NCCL: buffers in host memory and in the device's.
absl::Status CheckHostBuffers(Job& job, const RankFlags& flags);

// Many buffers as one launch; groups by Split.
absl::Status CheckGroups(Job& job, const RankFlags& flags);

// The last rank is killed in the middle of an all-reduce. The others get the error that names it,
// and go on in a second job without it.
absl::Status CheckLoss(Job& job, const RankFlags& flags);

// What NCCL tells the plug-in (--profiler-plugin) of a communicator's work.
absl::Status CheckProfiler(Job& job, const RankFlags& flags);

// Creates and destroys communicators, and looks for memory, threads and files that stay behind.
absl::Status CheckChurn(Job& job, const RankFlags& flags);

// Time of creating a communicator, beside bare NCCL with the id in a file.
absl::Status CheckBootstrap(Job& job, const RankFlags& flags);

// Times of all-reduce and broadcast, beside bare NCCL.
absl::Status CheckSpeed(Job& job, const RankFlags& flags);

// Prints GPU, driver, CUDA and NCCL. An error if there is no GPU that can be used.
absl::Status DescribeMachine();

// The version of NCCL whose headers this program was built with.
std::string BuiltWithNccl();

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_GPU_CHECKS_H_
