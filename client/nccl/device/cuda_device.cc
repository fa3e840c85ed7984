#include "client/nccl/device/cuda_device.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/nccl/device/cuda_driver.h"
#include "client/nccl/device/errors.h"
#include "client/nccl/device/libraries.h"
#include "client/src/base/error_note.h"

namespace muster::internal {
namespace {

std::string VisibleDevices() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return "CUDA_VISIBLE_DEVICES is not set";
  return absl::StrCat("CUDA_VISIBLE_DEVICES is '", visible, "'");
}

// Returns the version of the CUDA runtime in this process, such as "13.0".
std::string RuntimeVersion() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::Status NoDevice(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      return absl::FailedPreconditionError(absl::StrCat(
          "no usable GPU: the NVIDIA driver is missing, or older than this program's CUDA ",
          RuntimeVersion(), " needs (", cudaGetErrorString(error), ")"));
    case cudaErrorNoDevice:
      return absl::FailedPreconditionError(
          absl::StrCat("no usable GPU: no GPU is visible to this process; ", VisibleDevices()));
    default:
      return absl::FailedPreconditionError(absl::StrCat(
          "no usable GPU: CUDA says: ", cudaGetErrorString(error), "; ", VisibleDevices()));
  }
}

// Asks the driver. The runtime tells both only in cudaDeviceProp, whose layout differs between CUDA
// 12 and 13, and libmuster.so may load either.
absl::StatusOr<Device> Describe(int index) {
  const std::optional<std::string> name = CudaDriver::Get().NameOf(index);
  const std::optional<cudaUUID_t> uuid = CudaDriver::Get().UuidOf(index);
  if (name && uuid) return Device{index, *name, UuidText(*uuid)};
  return absl::InternalError(
      absl::StrCat("the NVIDIA driver does not tell the name and the UUID of GPU ", index));
}

}  // namespace

std::string Device::Describe() const {
  return absl::StrCat("GPU ", index, " (", name, ", ", uuid, ")");
}

absl::StatusOr<int> CountDevices() {
  if (const absl::Status loaded = LoadLibraries(); !loaded.ok()) {
    return WithExitCode(loaded, kExitUnhealthyNode);
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  cudaGetLastError();  // else the program's next cudaGetLastError() returns it
  return WithExitCode(NoDevice(error == cudaSuccess ? cudaErrorNoDevice : error),
                      kExitUnhealthyNode);
}

absl::StatusOr<int> ChooseDevice(int visible, std::optional<int> requested, int local_rank) {
  if (requested) {
    if (*requested >= 0 && *requested < visible) return *requested;
    return absl::InvalidArgumentError(absl::StrCat("NcclOptions::device is ", *requested,
                                                   ", but this process sees ", visible,
                                                   " GPUs, from 0 on; ", VisibleDevices()));
  }
  if (visible == 1) return 0;
  if (local_rank < visible) return local_rank;
  return absl::FailedPreconditionError(absl::StrCat(
      "local rank ", local_rank, " has no GPU of its own: this process sees ", visible,
      " GPUs; start at most one process for each GPU, or name one in NcclOptions::device; ",
      VisibleDevices()));
}

namespace {

constexpr int kMaxDevices = 64;

// The contexts of the devices that OpenDevice() has opened, by index; null for other devices.
std::atomic<void*> contexts[kMaxDevices] = {};
std::atomic<pid_t> opener = 0;  // the process that has opened them

void* ContextOf(int index) {
  return index >= 0 && index < kMaxDevices ? contexts[index].load() : nullptr;
}

// Records the context of `index`, which must be current.
void RememberContext(int index) {
  if (index < kMaxDevices) contexts[index] = CudaDriver::Get().CurrentContext();
  opener = getpid();
}

absl::StatusOr<Device> TryOpenDevice(std::optional<int> requested, int local_rank) {
  const absl::StatusOr<int> visible = CountDevices();
  if (!visible.ok()) return visible.status();
  const absl::StatusOr<int> index = ChooseDevice(*visible, requested, local_rank);
  if (!index.ok()) return index.status();
  absl::StatusOr<Device> device = Describe(*index);
  if (!device.ok()) return device;
  absl::Status current = CudaStatus("cudaSetDevice", cudaSetDevice(*index));
  // CUDA before 12 opens the device only on this call.
  if (current.ok()) current = CudaStatus("opening the device", cudaFree(nullptr));
  if (current.ok()) {
    RememberContext(*index);
    return device;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(device->Describe(), " cannot be used: ", current.message()));
}

}  // namespace

absl::StatusOr<Device> OpenDevice(std::optional<int> requested, int local_rank) {
  absl::StatusOr<Device> device = TryOpenDevice(requested, local_rank);
  if (device.ok() || absl::IsInvalidArgument(device.status())) return device;
  return WithExitCode(device.status(), kExitUnhealthyNode);
}

std::vector<int> OpenedDevices() {
  std::vector<int> devices;
  for (int index = 0; index < kMaxDevices; ++index) {
    if (contexts[index] != nullptr) devices.push_back(index);
  }
  return devices;
}

void UseDevice(int index) { cudaSetDevice(index); }

ScopedDevice::ScopedDevice(int index) {
  if (opener != getpid()) return;  // CUDA does not work in a fork
  void* const context = ContextOf(index);
  former_ = CudaDriver::Get().CurrentContext();
  if (context != nullptr && former_ == context) return;
  changed_ = context != nullptr && CudaDriver::Get().SetCurrentContext(context);
  // No context was set: the program has reset the device since, or there is no driver to ask.
  if (!changed_) UseDevice(index);
}

ScopedDevice::~ScopedDevice() {
  if (changed_) CudaDriver::Get().SetCurrentContext(former_);
}

std::string UuidText(const cudaUUID_t& uuid) {
  const std::string hex = absl::BytesToHexString(absl::string_view(uuid.bytes, sizeof(uuid.bytes)));
  return absl::StrCat("GPU-", hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

}  // namespace muster::internal
