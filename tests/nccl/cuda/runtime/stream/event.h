#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_EVENT_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_EVENT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tests/nccl/cuda/runtime/stream/stream_queue.h"

namespace fake_cuda {

// Returns what the event recorded last. If it has recorded nothing, returns a position that is
// reached.
QueuePosition LastRecord(cudaEvent_t event);

// Sets the record as if the event had been recorded at `position`.
void SetRecord(cudaEvent_t event, const QueuePosition& position);

int64_t LiveEvents();

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_STREAM_EVENT_H_
