#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_STREAM_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_STREAM_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/nccl/cuda/runtime/stream/stream_queue.h"

// The type behind cudaStream_t.
struct CUstream_st {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<fake_cuda::StreamQueue> queue;
  fake_cuda::QueuePosition last;  // the end of its work so far
};

namespace fake_cuda {

// Returns the stream that a handle names. 0 and cudaStreamLegacy name the current device's default
// stream. cudaStreamPerThread names the calling thread's own stream there. Ends the process if
// there is no such stream: the real runtime would crash, or report an error later.
CUstream_st* FindStream(cudaStream_t handle);

CUstream_st* CreateStream(unsigned flags, int priority);

// Returns false if the program has not created the stream. Default streams cannot be destroyed.
bool DestroyStream(CUstream_st* stream);

// Enqueues work on a stream, in CUDA's order: the default stream and all others except the
// non-blocking ones wait for each other. The work also begins after `others`.
QueuePosition Enqueue(CUstream_st* stream, std::function<void()> work,
                      const std::vector<QueuePosition>& others = {},
                      const std::vector<Access>& accesses = {});

// Returns the end of the stream's work so far.
QueuePosition LastWorkOf(cudaStream_t handle);

// Returns the number of streams that the program has created and not destroyed.
int64_t LiveStreams();

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_STREAM_H_
