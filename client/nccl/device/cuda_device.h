#ifndef MUSTER_CLIENT_NCCL_DEVICE_CUDA_DEVICE_H_
#define MUSTER_CLIENT_NCCL_DEVICE_CUDA_DEVICE_H_

#include <cuda_runtime_api.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::internal {

// A GPU as this process sees it.
struct Device {
  int index = 0;
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string uuid;  // "GPU-12345678-...": the same in every process

  // Returns a text such as "GPU 0 (NVIDIA H100 80GB HBM3, GPU-12345678-...)".
  std::string Describe() const;
};

// Returns the number of visible GPUs, at least 1. Loads CUDA and NCCL, where they are not linked.
// FAILED_PRECONDITION if there is no driver or no GPU; the error says which, and the value of
// CUDA_VISIBLE_DEVICES. FAILED_PRECONDITION if a library cannot be loaded; see LoadLibraries().
absl::StatusOr<int> CountDevices();

// Returns the index of this process's GPU: `requested`, or the only one of `visible`, or the one at
// `local_rank`. INVALID_ARGUMENT if `requested` is not visible. FAILED_PRECONDITION if several are
// visible, but too few for `local_rank`.
absl::StatusOr<int> ChooseDevice(int visible, std::optional<int> requested, int local_rank);

// Chooses a GPU as above, makes it current on this thread, which opens it, and describes it.
absl::StatusOr<Device> OpenDevice(std::optional<int> requested, int local_rank);

// Returns the devices that OpenDevice() has opened in this process.
std::vector<int> OpenedDevices();

// Makes a device current on one of this library's own threads, which never need another one.
void UseDevice(int index);

// Makes a device that OpenDevice() has opened current on a thread of the program, and restores the
// thread's former state at the end of the scope.
//
// Changes the thread's context, not its device. Going back with cudaSetDevice would open the former
// device, and a thread that has not used CUDA has the first GPU as its device. Opening a GPU takes
// about 500 MB of its memory, so every rank of a node would take that from rank 0's GPU.
class ScopedDevice {
 public:
  explicit ScopedDevice(int index);
  ~ScopedDevice();
  ScopedDevice(const ScopedDevice&) = delete;
  ScopedDevice& operator=(const ScopedDevice&) = delete;

 private:
  bool changed_ = false;
  void* former_ = nullptr;  // a CUcontext; null if the thread had none
};

// Returns "GPU-" and the groups of 8-4-4-4-12 hexadecimal digits that nvidia-smi shows.
std::string UuidText(const cudaUUID_t& uuid);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_CUDA_DEVICE_H_
