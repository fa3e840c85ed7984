#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/nccl/cuda/runtime/stream_timeline.h"

// What cudaStream_t points to.
struct CUstream_st {
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<fake_cuda::Timeline> timeline;
  fake_cuda::Mark last;  // of its work so far
};

namespace fake_cuda {

// The stream that a handle names: 0 and cudaStreamLegacy are the default stream of the current
// device, cudaStreamPerThread is the calling thread's own stream there. Ends the process where
// there is none: the real runtime crashes or reports an error later.
CUstream_st* FindStream(cudaStream_t handle);

CUstream_st* CreateStream(unsigned flags, int priority);

// Returns false if the program has not created the stream: default streams cannot be destroyed.
bool DestroyStream(CUstream_st* stream);

// Work on a stream, in the order that CUDA gives it: the default stream waits for all others but
// those that are non-blocking, and they for it. The work begins after `others`, too.
Mark Enqueue(CUstream_st* stream, std::function<void()> work, const std::vector<Mark>& others = {},
             const std::vector<Access>& accesses = {});

// The end of what a stream has to do so far.
Mark EndOf(cudaStream_t handle);

// Streams that the program has created and not destroyed.
int64_t LiveStreams();

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_H_
