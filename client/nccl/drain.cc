#include "client/nccl/drain.h"

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/nccl/communicator/wait.h"
#include "client/nccl/device/cuda_device.h"
#include "client/nccl/device/errors.h"
#include "client/nccl/device/features.h"
#include "client/src/base/error_note.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

constexpr char kWhat[] = "waiting for all ranks before the communicator ends";

absl::Status OpenStream(cudaStream_t* stream) {
  return CudaStatus("cudaStreamCreateWithFlags",
                    cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
}

// Allocates from a pool, since cudaMalloc may wait for a kernel that hangs.
absl::Status Allocate(cudaStream_t stream, void** memory) {
  absl::Status status =
      CudaStatus("cudaMallocAsync", cudaMallocAsync(memory, sizeof(int32_t), stream));
  if (!status.ok()) return status;
  return CudaStatus("cudaMemsetAsync", cudaMemsetAsync(*memory, 0, sizeof(int32_t), stream));
}

absl::Status AwaitAllRanks(NcclHandle& handle, cudaStream_t stream, void* memory,
                           const Deadline& deadline) {
  absl::Status status = handle.Operate(kWhat, deadline, [&](ncclComm_t comm) {
    return ncclAllReduce(memory, memory, 1, ncclInt32, ncclSum, comm, stream);
  });
  return status.ok() ? AwaitStream(handle, stream, kWhat, deadline) : status;
}

}  // namespace

void Drain(NcclHandle& handle, const Deadline& deadline) {
  if (!NcclDropsUnsentWork() || handle.size() == 1 || !handle.health().ok()) return;
  const ScopedDevice current(handle.device().index);
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  absl::Status status = OpenStream(&stream);
  if (status.ok()) status = Allocate(stream, &memory);
  status = status.ok() ? AwaitAllRanks(handle, stream, memory, deadline) : handle.End(status);
  if (!status.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("the communicator was stopped: ", CodeAndText(status)));
    if (!handle.IsQuiet()) return;  // NCCL may still write to the memory
  }
  if (stream == nullptr) return;
  if (memory != nullptr) cudaFreeAsync(memory, stream);
  cudaStreamDestroy(stream);
}

}  // namespace muster::internal
