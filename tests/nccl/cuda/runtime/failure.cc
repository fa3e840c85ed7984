#include "tests/nccl/cuda/runtime/failure.h"

#include <atomic>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/stream/stream_queue.h"

namespace fake_cuda {
namespace {

std::atomic<cudaError_t> failure{cudaSuccess};

}  // namespace

cudaError_t Failure() { return failure; }

void FailDevice(cudaError_t error) {
  cudaError_t none = cudaSuccess;
  failure.compare_exchange_strong(none, error);
  StreamQueue::WakeAll();
}

}  // namespace fake_cuda
