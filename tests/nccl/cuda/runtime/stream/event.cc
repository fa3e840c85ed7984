#include "tests/nccl/cuda/runtime/stream/event.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <set>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/failure.h"
#include "tests/nccl/cuda/runtime/stream/stream.h"

namespace fake_cuda {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

struct Record {
  QueuePosition position;
  std::shared_ptr<TimePoint> time = std::make_shared<TimePoint>();  // set when it is reached
};

}  // namespace
}  // namespace fake_cuda

// The type behind cudaEvent_t.
struct CUevent_st {
  int device = 0;
  std::mutex mutex;
  fake_cuda::Record record;
};

namespace fake_cuda {
namespace {

struct Events {
  std::mutex mutex;
  std::set<CUevent_st*> all;
};

Events& AllEvents() {
  static auto* const kEvents = new Events();
  return *kEvents;
}

CUevent_st* FindEvent(cudaEvent_t handle) {
  const std::lock_guard<std::mutex> lock(AllEvents().mutex);
  if (AllEvents().all.count(handle) == 0) {
    Violation("a call names event %p, which does not exist or has been destroyed",
              static_cast<void*>(handle));
  }
  return handle;
}

Record LastRecordAndTime(cudaEvent_t handle) {
  CUevent_st* const event = FindEvent(handle);
  const std::lock_guard<std::mutex> lock(event->mutex);
  return event->record;
}

}  // namespace

QueuePosition LastRecord(cudaEvent_t handle) { return LastRecordAndTime(handle).position; }

void SetRecord(cudaEvent_t handle, const QueuePosition& position) {
  CUevent_st* const event = FindEvent(handle);
  const std::lock_guard<std::mutex> lock(event->mutex);
  event->record = {};
  event->record.position = position;
}

int64_t LiveEvents() {
  const std::lock_guard<std::mutex> lock(AllEvents().mutex);
  return static_cast<int64_t>(AllEvents().all.size());
}

}  // namespace fake_cuda

using fake_cuda::AllEvents;
using fake_cuda::BeginCudaCall;
using fake_cuda::FindEvent;
using fake_cuda::RecordError;

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  *event = new CUevent_st();
  (*event)->device = fake_cuda::CurrentDevice();
  const std::lock_guard<std::mutex> lock(AllEvents().mutex);
  AllEvents().all.insert(*event);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  CUevent_st* const event = FindEvent(handle);
  {
    const std::lock_guard<std::mutex> lock(AllEvents().mutex);
    AllEvents().all.erase(event);
  }
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  CUevent_st* const event = FindEvent(handle);
  CUstream_st* const where = fake_cuda::FindStream(stream);
  if (event->device != where->device) return RecordError(cudaErrorInvalidResourceHandle);
  fake_cuda::Record record;
  record.position =
      fake_cuda::Enqueue(where, [time = record.time] { *time = std::chrono::steady_clock::now(); });
  const std::lock_guard<std::mutex> lock(event->mutex);
  event->record = record;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  return RecordError(fake_cuda::LastRecord(handle).PollFromHost() ? fake_cuda::Failure()
                                                                  : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::LastRecord(handle).AwaitFromHost();
  return RecordError(fake_cuda::Failure());
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  const fake_cuda::Record first = fake_cuda::LastRecordAndTime(start);
  const fake_cuda::Record second = fake_cuda::LastRecordAndTime(end);
  if (first.position.queue == nullptr || second.position.queue == nullptr) {
    return RecordError(cudaErrorInvalidResourceHandle);
  }
  if (!first.position.Reached() || !second.position.Reached())
    return RecordError(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(*second.time - *first.time).count();
  return cudaSuccess;
}

}  // extern "C"
