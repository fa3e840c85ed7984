#ifndef MUSTER_CLIENT_NCCL_DEVICE_H_
#define MUSTER_CLIENT_NCCL_DEVICE_H_

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::internal {

// One GPU as this process sees it.
struct Device {
  int index = 0;
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string uuid;  // "GPU-12345678-...": the same in every process

  // "GPU 0 (NVIDIA H100 80GB HBM3, GPU-12345678-...)".
  std::string Describe() const;
};

// The number of visible GPUs, at least 1. FAILED_PRECONDITION where there is no driver or no GPU,
// saying which, and what CUDA_VISIBLE_DEVICES is.
absl::StatusOr<int> CountDevices();

// The index of the GPU of a process: `asked`, or the only one of `visible`, or the one at
// `local_rank`. INVALID_ARGUMENT if `asked` is not among them, FAILED_PRECONDITION if there are
// several, but too few for `local_rank`.
absl::StatusOr<int> ChooseDevice(int visible, std::optional<int> asked, int local_rank);

// Chooses as above, makes the device current on this thread (which opens it), and describes it.
absl::StatusOr<Device> OpenDevice(std::optional<int> asked, int local_rank);

// Makes a device current on this thread, and the former one when it ends.
class ScopedDevice {
 public:
  explicit ScopedDevice(int index);
  ~ScopedDevice();
  ScopedDevice(const ScopedDevice&) = delete;
  ScopedDevice& operator=(const ScopedDevice&) = delete;

 private:
  int former_ = -1;  // -1: nothing to restore
};

// "GPU-" and the groups of 8-4-4-4-12 hexadecimal digits that nvidia-smi shows.
std::string UuidText(const cudaUUID_t& uuid);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_H_
