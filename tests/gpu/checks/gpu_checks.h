#ifndef MUSTER_TESTS_GPU_CHECKS_GPU_CHECKS_H_
#define MUSTER_TESTS_GPU_CHECKS_GPU_CHECKS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "muster/job.h"

namespace muster::gpu {

// The flags that gpu_test passes to the ranks.
struct RankFlags {
  size_t max_bytes = size_t{64} << 20;  // largest buffer
  int rounds = 100;                     // of creating and destroying
  double seconds = 3;                   // to measure one size
  bool quick = false;                   // few types and operations
  bool judge = false;                   // fail if a figure is over its limit
  std::string scratch;                  // a folder that all ranks share
  std::string second_coordinator;       // for a second job
  std::string profiler_plugin;          // the library's path
};

// Each function is one rank's part of a check. It returns the check's first error. Rank 0 prints
// the figures.

// Checks every type and operation against the CPU's result for the same input.
absl::Status CheckValues(Job& job, const RankFlags& flags);

// Checks Communicator with NCCL on buffers in host memory and in device memory.
absl::Status CheckHostBuffers(Job& job, const RankFlags& flags);

// Checks many buffers in one launch, and groups by Split.
absl::Status CheckGroups(Job& job, const RankFlags& flags);

// Kills the last rank in the middle of an all-reduce. The others must get the error that names it,
// and then go on in a second job without it.
absl::Status CheckLoss(Job& job, const RankFlags& flags);

// Checks what NCCL reports to the plug-in (--profiler-plugin) about a communicator's work.
absl::Status CheckProfiler(Job& job, const RankFlags& flags);

// Creates and destroys communicators, and looks for leaks of memory, threads and files.
absl::Status CheckChurn(Job& job, const RankFlags& flags);

// Compares the time to create a communicator with bare NCCL, which passes the id in a file.
absl::Status CheckBootstrap(Job& job, const RankFlags& flags);

// Compares the times of all-reduce and broadcast with bare NCCL.
absl::Status CheckSpeed(Job& job, const RankFlags& flags);

// Prints GPU, driver, CUDA and NCCL. Returns an error if there is no usable GPU.
absl::Status DescribeMachine();

// Returns the version of NCCL whose headers this program was built with.
std::string BuiltWithNccl();

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_CHECKS_GPU_CHECKS_H_
