// Copies and fills, in the order of their stream.

#include <cstring>
#include <optional>
#include <vector>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/failure.h"
#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"
#include "tests/nccl/cuda/runtime/stream/stream.h"

namespace fake_cuda {
namespace {

bool IsDevice(const void* pointer) {
  const std::optional<Region> region = FindRegion(pointer);
  return region && region->allocation.type == cudaMemoryTypeDevice;
}

// The source or the target of a copy, which may be pageable memory too.
struct Side {
  char* view = nullptr;
  bool device = false;
  bool pageable = false;
};

Side SideOf(const void* pointer, size_t size) {
  Side side;
  side.view = static_cast<char*>(Reach(pointer, size));
  side.device = IsDevice(pointer);
  if (side.view == nullptr && side.device) {
    Violation("a copy of %zu bytes at %p leaves its device allocation", size, pointer);
  }
  side.pageable = side.view == nullptr;
  if (side.pageable) side.view = static_cast<char*>(const_cast<void*>(pointer));
  return side;
}

bool MatchesKind(cudaMemcpyKind kind, const Side& to, const Side& from) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to.device && !from.device;
    case cudaMemcpyHostToDevice:
      return to.device && !from.device;
    case cudaMemcpyDeviceToHost:
      return !to.device && from.device;
    case cudaMemcpyDeviceToDevice:
      return to.device && from.device;
    default:
      return true;
  }
}

cudaError_t Copy(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream,
                 bool synchronous) {
  if (size == 0) return cudaSuccess;
  const Side target = SideOf(to, size);
  const Side source = SideOf(from, size);
  if (!MatchesKind(kind, target, source)) return cudaErrorInvalidValue;
  std::vector<Access> accesses;
  if (!source.pageable) accesses.push_back({from, size, /*writes=*/false, "a copy", nullptr});
  if (!target.pageable) accesses.push_back({to, size, /*writes=*/true, "a copy", nullptr});
  const QueuePosition done = Enqueue(
      FindStream(stream), [target, source, size] { std::memcpy(target.view, source.view, size); },
      {}, accesses);
  // Copies of pageable memory wait for the stream, although they are called asynchronous.
  if (synchronous || target.pageable || source.pageable) done.AwaitFromHost();
  return Failure();
}

cudaError_t Fill(void* pointer, int value, size_t size, cudaStream_t stream) {
  void* const view = Reach(pointer, size);
  if (view == nullptr) return cudaErrorInvalidValue;
  Enqueue(FindStream(stream), [view, value, size] { std::memset(view, value, size); }, {},
          {{pointer, size, /*writes=*/true, "a memset", nullptr}});
  return cudaSuccess;
}

}  // namespace
}  // namespace fake_cuda

using fake_cuda::RecordError;

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  if (cudaError_t error = fake_cuda::BeginCudaCall(__func__); error != cudaSuccess)
    return RecordError(error);
  return RecordError(fake_cuda::Copy(to, from, size, kind, nullptr, /*synchronous=*/true));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (cudaError_t error = fake_cuda::BeginCudaCall(__func__); error != cudaSuccess)
    return RecordError(error);
  return RecordError(fake_cuda::Copy(to, from, size, kind, stream, /*synchronous=*/false));
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t size, cudaStream_t stream) {
  if (cudaError_t error = fake_cuda::BeginCudaCall(__func__); error != cudaSuccess)
    return RecordError(error);
  return RecordError(fake_cuda::Fill(pointer, value, size, stream));
}

cudaError_t cudaMemset(void* pointer, int value, size_t size) {
  if (cudaError_t error = fake_cuda::BeginCudaCall(__func__); error != cudaSuccess)
    return RecordError(error);
  return RecordError(fake_cuda::Fill(pointer, value, size, nullptr));
}

// Not supported. Callers then copy one range after another.
cudaError_t cudaMemcpyBatchAsync(void* const*, const void* const*, const size_t*, size_t,
                                 cudaMemcpyAttributes*, size_t*, size_t, cudaStream_t) {
  return RecordError(cudaErrorNotSupported);
}

}  // extern "C"
