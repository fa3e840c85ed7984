#ifndef MUSTER_TESTS_NCCL_CUDA_TEST_PROCESS_H_
#define MUSTER_TESTS_NCCL_CUDA_TEST_PROCESS_H_

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tests/nccl/fake/forked_nccl_ranks.h"

// Helpers of the tests of the stand-in GPU. Each test runs in its own process, since the GPU's
// state belongs to the process.
namespace muster::testing {

using Environment = std::map<std::string, std::string>;

// Runs `body` in a new process, and expects it to succeed.
inline void ExpectInProcess(const Environment& env, const std::function<void()>& body) {
  ExpectForked(
      1, [&](int, IdExchange&) { body(); }, env);
}

inline RankExit RunInProcess(const std::function<void()>& body, const Environment& env = {}) {
  return RunForked(
      1, [&](int, IdExchange&) { body(); }, env)[0];
}

// Returns an entry point of the driver, which must exist: Driver<decltype(cuMemMap)>("cuMemMap").
template <class Function>
Function* Driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, 13000, cudaEnableDefault, &result);
  EXPECT_EQ(error, cudaSuccess) << name;
  EXPECT_EQ(result, cudaDriverEntryPointSuccess) << name;
  return reinterpret_cast<Function*>(found);
}

// Work that waits until the test releases it.
struct StreamGate {
  std::atomic<bool> open{false};
  std::function<void()> work() {
    return [this] {
      while (!open) std::this_thread::yield();
    };
  }
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_CUDA_TEST_PROCESS_H_
