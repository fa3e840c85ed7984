// The machine's GPUs. Environment variables describe them (README.md). As in the real runtime, the
// process reads these once.

#include "tests/nccl/cuda/runtime/devices.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "common/text/fnv1a.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/environment.h"
#include "tests/nccl/cuda/runtime/failure.h"

namespace fake_cuda {
namespace {

constexpr int kDefaultDevices = 8;
constexpr size_t kDefaultMemory = size_t{4} << 30;
constexpr int kComputeMajor = 9;
constexpr int kSharedMemory = 232448;  // bytes that a block may ask for, as on an H100

// Returns a UUID that differs between devices and between machines.
cudaUUID_t UuidOf(int physical) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string machine = Variable("FAKE_CUDA_MACHINE", host);
  cudaUUID_t uuid = {};
  const uint64_t hash = muster::Fnv1a64(machine);
  std::memcpy(uuid.bytes, &hash, sizeof hash);
  uuid.bytes[15] = static_cast<char>(physical);
  return uuid;
}

std::string TextOf(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += "-";
  }
  return text;
}

std::vector<Device> AllDevices() {
  std::vector<Device> all(
      std::stoi(Variable("FAKE_CUDA_DEVICES", std::to_string(kDefaultDevices))));
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].physical = static_cast<int>(i);
    all[i].uuid = UuidOf(all[i].physical);
  }
  return all;
}

// Returns the device that an entry of CUDA_VISIBLE_DEVICES names, by index or UUID. Null ends the
// list.
const Device* FindByName(const std::vector<Device>& all, const std::string& entry) {
  for (const Device& device : all) {
    const bool by_uuid =
        entry.size() > 4 && TextOf(device.uuid).compare(0, entry.size(), entry) == 0;
    if (by_uuid || entry == std::to_string(device.physical)) return &device;
  }
  return nullptr;
}

std::vector<Device> ReadVisibleDevices() {
  const std::vector<Device> all = AllDevices();
  const char* wanted = std::getenv("CUDA_VISIBLE_DEVICES");
  if (wanted == nullptr) return all;
  std::vector<Device> visible;
  std::stringstream list(wanted);
  for (std::string entry; std::getline(list, entry, ',');) {
    const Device* device = FindByName(all, entry);
    if (device == nullptr) break;
    visible.push_back(*device);
  }
  return visible;
}

}  // namespace

const std::vector<Device>& VisibleDevices() {
  static const auto* const kDevices = new std::vector<Device>(ReadVisibleDevices());
  return *kDevices;
}

size_t DeviceMemory() {
  return std::stoull(Variable("FAKE_CUDA_MEMORY", std::to_string(kDefaultMemory)));
}

cudaError_t RuntimeState() {
  if (Variable("FAKE_CUDA_DRIVER", "current") == "old") return cudaErrorInsufficientDriver;
  return VisibleDevices().empty() ? cudaErrorNoDevice : cudaSuccess;
}

}  // namespace fake_cuda

using fake_cuda::BeginCudaCall;
using fake_cuda::RecordError;

namespace {

cudaError_t CheckDevice(int device) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess) return error;
  const bool there = device >= 0 && device < static_cast<int>(fake_cuda::VisibleDevices().size());
  return there ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess)
    return RecordError(error);
  if (cudaError_t error = fake_cuda::InjectedError(__func__); error != cudaSuccess) {
    return RecordError(error);
  }
  *count = static_cast<int>(fake_cuda::VisibleDevices().size());
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (cudaError_t error = CheckDevice(device); error != cudaSuccess) return RecordError(error);
  if (cudaError_t error = fake_cuda::InjectedError(__func__); error != cudaSuccess) {
    return RecordError(error);
  }
  fake_cuda::SetCurrentDevice(device);
  return RecordError(fake_cuda::Failure());
}

cudaError_t cudaGetDevice(int* device) {
  if (cudaError_t error = fake_cuda::RuntimeState(); error != cudaSuccess)
    return RecordError(error);
  *device = fake_cuda::CurrentDevice();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (cudaError_t error = CheckDevice(device); error != cudaSuccess) return RecordError(error);
  if (cudaError_t error = fake_cuda::InjectedError(__func__); error != cudaSuccess) {
    return RecordError(error);
  }
  const fake_cuda::Device& found = fake_cuda::VisibleDevices()[device];
  *properties = cudaDeviceProp();
  std::snprintf(properties->name, sizeof properties->name, "%s", fake_cuda::kDeviceName);
  properties->uuid = found.uuid;
  properties->totalGlobalMem = fake_cuda::DeviceMemory();
  properties->major = fake_cuda::kComputeMajor;
  properties->pciBusID = found.physical + 1;
  properties->multiProcessorCount = 1;
  properties->unifiedAddressing = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (cudaError_t error = CheckDevice(device); error != cudaSuccess) return RecordError(error);
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = fake_cuda::kComputeMajor;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrMultiProcessorCount:
      *value = 1;
      return cudaSuccess;
    case cudaDevAttrGPUDirectRDMASupported:
      *value = 0;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = fake_cuda::kSharedMemory;
      return cudaSuccess;
    default:
      fake_cuda::Violation("cudaDeviceGetAttribute asks for attribute %d, which is not modelled",
                           static_cast<int>(attribute));
  }
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t) {
  if (cudaError_t error = BeginCudaCall(__func__); error != cudaSuccess) return RecordError(error);
  return RecordError(limit == cudaLimitStackSize ? cudaSuccess : cudaErrorUnsupportedLimit);
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (cudaError_t error = CheckDevice(device); error != cudaSuccess) return RecordError(error);
  std::snprintf(id, length, "0000:%02X:00.0", fake_cuda::VisibleDevices()[device].physical + 1);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = fake_cuda::Variable("FAKE_CUDA_DRIVER", "current") == "old" ? 0 : CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

}  // extern "C"
