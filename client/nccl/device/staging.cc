#include "client/nccl/device/staging.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/nccl/device/errors.h"

namespace muster::internal {
namespace {

// NCCL is fastest on addresses that are multiples of 16. cudaMalloc returns multiples of 512.
constexpr size_t kAlignment = 512;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

absl::StatusOr<bool> IsDeviceMemory(const void* pointer) {
  // A loaded runtime of CUDA 13 writes more than one of CUDA 12.
  struct {
    cudaPointerAttributes known;
    char more[256];
  } attributes = {};
  absl::Status status =
      CudaStatus("cudaPointerGetAttributes", cudaPointerGetAttributes(&attributes.known, pointer));
  if (!status.ok()) return status;
  const cudaMemoryType type = attributes.known.type;
  return type == cudaMemoryTypeDevice || type == cudaMemoryTypeManaged;
}

std::vector<void*> Staging::Release() {
  current_ = nullptr;
  bytes_ = 0;
  return std::exchange(blocks_, {});
}

absl::Status Staging::Place(absl::Span<Area> areas) {
  std::vector<Area*> staged;
  size_t total = 0;
  for (Area& area : areas) {
    area.device = area.data;
    if (area.bytes == 0) continue;
    const absl::StatusOr<bool> on_device = IsDeviceMemory(area.data);
    if (!on_device.ok()) return on_device.status();
    if (*on_device) continue;
    staged.push_back(&area);
    total += Aligned(area.bytes);
  }
  if (absl::Status status = Reserve(total); !status.ok()) return status;
  char* next = current_;
  for (Area* area : staged) {
    area->device = next;
    next += Aligned(area->bytes);
  }
  return absl::OkStatus();
}

absl::Status Staging::Reserve(size_t bytes) {
  if (bytes <= bytes_) return absl::OkStatus();
  const size_t wanted = std::max(bytes, 2 * bytes_);
  void* memory = nullptr;
  absl::Status status =
      CudaStatus(absl::StrCat("cudaMalloc of ", wanted, " bytes for host buffers"),
                 cudaMalloc(&memory, wanted));
  if (!status.ok()) return status;
  blocks_.push_back(memory);
  current_ = static_cast<char*>(memory);
  bytes_ = wanted;
  return absl::OkStatus();
}

}  // namespace muster::internal
