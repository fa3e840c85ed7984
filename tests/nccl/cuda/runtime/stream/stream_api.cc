// The runtime's functions for streams.

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/failure.h"
#include "tests/nccl/cuda/runtime/stream/event.h"
#include "tests/nccl/cuda/runtime/stream/stream.h"

using fake_cuda::BeginCudaCall;
using fake_cuda::FindStream;
using fake_cuda::RecordError;

namespace {

constexpr int kGreatestPriority = -5;

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) {
    return RecordError(cudaErrorInvalidValue);
  }
  *stream = fake_cuda::CreateStream(flags, priority);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  *least = 0;
  *greatest = kGreatestPriority;
  return cudaSuccess;
}

// Returns at once. The stream still does the work that it has.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  const bool created = fake_cuda::DestroyStream(FindStream(handle));
  return RecordError(created ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  return RecordError(fake_cuda::LastWorkOf(handle).PollFromHost() ? fake_cuda::Failure()
                                                                  : cudaErrorNotReady);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::LastWorkOf(handle).AwaitFromHost();
  return RecordError(fake_cuda::Failure());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned int) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  const fake_cuda::QueuePosition position = fake_cuda::LastRecord(event);
  fake_cuda::Enqueue(FindStream(handle), [] {}, {position});
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  *flags = FindStream(handle)->flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  *priority = FindStream(handle)->priority;
  return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  *id = FindStream(handle)->queue->id();
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  *device = FindStream(handle)->device;
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::Enqueue(FindStream(handle), [function, data] { function(data); });
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::AwaitIdle(fake_cuda::CurrentDevice());
  return RecordError(fake_cuda::Failure());
}

}  // extern "C"
