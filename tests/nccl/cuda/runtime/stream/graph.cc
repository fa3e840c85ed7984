// Graphs are not modelled. No stream is ever being captured, and all other calls are rejected.

#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/stream/stream.h"

using fake_cuda::BeginCudaCall;
using fake_cuda::RecordError;

extern "C" {

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::FindStream(stream);
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long*, cudaGraph_t*, const cudaGraphNode_t**,
                                     const cudaGraphEdgeData**, size_t*) {
  return cudaStreamIsCapturing(stream, status);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  const cudaStreamCaptureMode previous = current;
  current = *mode;
  *mode = previous;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t*,
                                                const cudaGraphEdgeData*, size_t, unsigned int) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*,
                                     const cudaGraphEdgeData*, size_t) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                        size_t, cudaEvent_t) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                      cudaEvent_t) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                 const cudaHostNodeParams*) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaKernelNodeParams*) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t*, void*, cudaHostFn_t, unsigned int,
                                 unsigned int) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned int, unsigned int) {
  return RecordError(cudaErrorNotSupported);
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc*, cudaExtent*, unsigned int*, cudaArray_t) {
  return RecordError(cudaErrorNotSupported);
}

}  // extern "C"
