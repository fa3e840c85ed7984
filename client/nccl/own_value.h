#ifndef MUSTER_CLIENT_NCCL_OWN_VALUE_H_
#define MUSTER_CLIENT_NCCL_OWN_VALUE_H_

#include <cuda_runtime_api.h>

#include <cstddef>

#include "absl/status/status.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/device/cuda_device.h"
#include "client/nccl/device/errors.h"

namespace muster::internal {

// The copy that replaces a collective inside a PreventBlock scope: the result is this rank's own
// value.
struct OwnValue {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
};

// Enqueues the copy on the stream.
inline absl::Status CopyOwn(const NcclHandle& handle, const OwnValue& own, cudaStream_t stream) {
  if (absl::Status status = handle.health(); !status.ok()) return status;
  if (own.from == own.to || own.bytes == 0) return absl::OkStatus();
  const ScopedDevice current(handle.device().index);
  return CudaStatus("cudaMemcpyAsync",
                    cudaMemcpyAsync(own.to, own.from, own.bytes, cudaMemcpyDeviceToDevice, stream));
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_OWN_VALUE_H_
