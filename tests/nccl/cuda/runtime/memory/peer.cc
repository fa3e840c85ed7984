// Access of one device to the memory of another, in one process and between processes.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/devices.h"
#include "tests/nccl/cuda/runtime/environment.h"
#include "tests/nccl/cuda/runtime/memory/reachable_memory.h"

using fake_cuda::BeginCudaCall;
using fake_cuda::BeginQuery;
using fake_cuda::MemoryKind;
using fake_cuda::RecordError;

namespace {

// The content of a cudaIpcMemHandle_t, by which another process of this machine finds the memory.
struct IpcHandle {
  int process;
  int file;
  int device;
  size_t size;
};

bool HavePeerAccess(int device, int peer) {
  return device != peer && fake_cuda::Variable("FAKE_CUDA_PEER_ACCESS", "0") == "1";
}

// Enables access. Returns false if the pair was enabled before.
bool Enable(int device, int peer) {
  static std::mutex mutex;
  static auto* const kEnabled = new std::set<std::pair<int, int>>();
  const std::lock_guard<std::mutex> lock(mutex);
  return kEnabled->emplace(device, peer).second;
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (cudaError_t error = BeginQuery(__func__); error != cudaSuccess) return RecordError(error);
  const int count = static_cast<int>(fake_cuda::VisibleDevices().size());
  if (device < 0 || device >= count || peer < 0 || peer >= count) {
    return RecordError(cudaErrorInvalidDevice);
  }
  *can = HavePeerAccess(device, peer) ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  const int device = fake_cuda::CurrentDevice();
  if (!HavePeerAccess(device, peer)) return RecordError(cudaErrorPeerAccessUnsupported);
  return RecordError(Enable(device, peer) ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}

// Exports the whole allocation, as real CUDA does.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  const auto region = fake_cuda::FindRegion(pointer);
  if (!region || region->allocation.kind != MemoryKind::kDevice) {
    return RecordError(cudaErrorInvalidValue);
  }
  const fake_cuda::Allocation& allocation = region->allocation;
  const IpcHandle contents{getpid(), allocation.file, allocation.device, allocation.size};
  static_assert(sizeof contents <= sizeof *handle);
  std::memcpy(handle, &contents, sizeof contents);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  IpcHandle contents;
  std::memcpy(&contents, &handle, sizeof contents);
  if (contents.process == getpid()) return RecordError(cudaErrorDeviceUninitialized);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", contents.process, contents.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return RecordError(cudaErrorMapBufferObjectFailed);
  *pointer = fake_cuda::MapFile(file, contents.size, MemoryKind::kImported, contents.device);
  return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  fake_cuda::AwaitIdle(fake_cuda::CurrentDevice());
  fake_cuda::Release(pointer, MemoryKind::kImported);
  return cudaSuccess;
}

}  // extern "C"
