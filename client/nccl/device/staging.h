#ifndef MUSTER_CLIENT_NCCL_DEVICE_STAGING_H_
#define MUSTER_CLIENT_NCCL_DEVICE_STAGING_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace muster::internal {

// A range of host or device memory that an operation reads or writes.
struct Area {
  void* data = nullptr;
  size_t bytes = 0;
  bool read = false;
  bool written = false;
  void* device = nullptr;  // where the operation finds it; if not data, it is staged

  bool staged() const { return device != data; }
};

// Returns whether `pointer` is device memory or managed memory. NCCL would accept pinned host
// memory too, but every byte of it would cross the bus more than once.
absl::StatusOr<bool> IsDeviceMemory(const void* pointer);

// Device memory that stands in for host memory. It grows and never shrinks, because cudaFree waits
// for all work of the device, of any origin and for any time. So blocks that have become too small
// are kept; together they are smaller than the block in use. The device must be current in all
// calls.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Sets `device` of all areas. The contents of earlier areas are lost. INTERNAL if CUDA fails.
  absl::Status Place(absl::Span<Area> areas);

  // Returns the memory, which the caller then owns.
  std::vector<void*> Release();

 private:
  absl::Status Reserve(size_t bytes);

  std::vector<void*> blocks_;
  char* current_ = nullptr;  // the last block
  size_t bytes_ = 0;         // the last block's size
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_STAGING_H_
