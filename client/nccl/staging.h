#ifndef MUSTER_CLIENT_NCCL_STAGING_H_
#define MUSTER_CLIENT_NCCL_STAGING_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace muster::internal {

// Memory that an operation reads or writes, in the host or on the device.
struct Area {
  void* data = nullptr;
  size_t bytes = 0;
  bool read = false;
  bool written = false;
  void* device = nullptr;  // where the operation finds it; != data: staged

  bool staged() const { return device != data; }
};

// Whether this is a device's memory, or managed memory. NCCL would take pinned memory of the host
// too, but every byte of it would cross the bus more than once.
absl::StatusOr<bool> IsDeviceMemory(const void* pointer);

// Device memory that stands in for host memory. Grows, and does not shrink: cudaFree waits for all
// that the device has to do, whoever has given it that, and for as long as that takes. So what has
// become too small is kept, which is less than what is in use. The device must be current in all
// calls.
class Staging {
 public:
  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Sets the `device` of all areas. What former ones had here is lost. INTERNAL if CUDA fails.
  absl::Status Place(absl::Span<Area> areas);

  // The memory, for the caller to free, or to leave alone.
  std::vector<void*> Release();

 private:
  absl::Status Reserve(size_t bytes);

  std::vector<void*> blocks_;
  char* current_ = nullptr;  // the last of them
  size_t bytes_ = 0;         // of that
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STAGING_H_
