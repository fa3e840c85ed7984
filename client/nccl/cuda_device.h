#ifndef MUSTER_CLIENT_NCCL_CUDA_DEVICE_H_
#define MUSTER_CLIENT_NCCL_CUDA_DEVICE_H_

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <vector>

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

// The devices that OpenDevice() has opened in this process.
std::vector<int> OpenedDevices();

// Makes a device current on a thread of this library's own, which needs no other one.
void UseDevice(int index);

// Makes a device that OpenDevice() has opened current on a thread of the program's, and what the
// thread had before when it ends.
//
// It sets the thread's context and not its device: to go back by cudaSetDevice would open the
// former device, and a thread that has not used CUDA has the first GPU as its device. Opening a GPU
// takes some 500 MB of its memory, so every rank of a node would take them from rank 0.
class ScopedDevice {
 public:
  explicit ScopedDevice(int index);
  ~ScopedDevice();
  ScopedDevice(const ScopedDevice&) = delete;
  ScopedDevice& operator=(const ScopedDevice&) = delete;

 private:
  bool changed_ = false;
  void* former_ = nullptr;  // a CUcontext; null: the thread had none
};

// "GPU-" and the groups of 8-4-4-4-12 hexadecimal digits that nvidia-smi shows.
std::string UuidText(const cudaUUID_t& uuid);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_CUDA_DEVICE_H_
