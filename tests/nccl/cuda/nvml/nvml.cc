// NVML, the driver's management library, for the stand-in GPUs. It lists all GPUs of the machine,
// whatever CUDA_VISIBLE_DEVICES says. They have no NVLink. README.md says what it reports.

#include "tests/nccl/cuda/nvml/nvml.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned long long kMebibyte = 1 << 20;

// The number of GPUs on which the process uses memory if FAKE_NVML_MIB is set.
constexpr unsigned int kUsedDevices = 2;

unsigned int CountDevices() {
  const char* const count = std::getenv("FAKE_CUDA_DEVICES");
  return count == nullptr ? 8 : std::atoi(count);
}

// Returns the handle of a GPU. Handles count from 1, since null is no device.
nvmlDevice_t HandleOf(unsigned int index) {
  return reinterpret_cast<nvmlDevice_t>(static_cast<uintptr_t>(index) + 1);
}

unsigned int IndexOf(nvmlDevice_t device) {
  return static_cast<unsigned int>(reinterpret_cast<uintptr_t>(device) - 1);
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
nvmlReturn_t nvmlInit() { return NVML_SUCCESS; }
nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = CountDevices();
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int* count) { return nvmlDeviceGetCount_v2(count); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  if (index >= CountDevices()) return NVML_ERROR_INVALID_ARGUMENT;
  *device = HandleOf(index);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

// Accepts "GPU-2" for the GPU with index 2.
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  unsigned int index = 0;
  if (std::sscanf(uuid, "GPU-%u", &index) != 1) return NVML_ERROR_NOT_FOUND;
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

// Takes the CPUs from FAKE_NVML_CPUS: a range for each GPU, such as "0-7;8-15".
nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words,
                                      unsigned long* mask) {
  constexpr unsigned int kWordBits = 8 * sizeof(unsigned long);
  const char* range = std::getenv("FAKE_NVML_CPUS");
  for (unsigned int i = 0; i < IndexOf(device) && range != nullptr; ++i) {
    range = std::strchr(range, ';');
    if (range != nullptr) ++range;
  }
  unsigned int first = 0;
  unsigned int last = 0;
  if (range == nullptr || std::sscanf(range, "%u-%u", &first, &last) != 2) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  std::memset(mask, 0, words * sizeof(unsigned long));
  for (unsigned int cpu = first; cpu <= last && cpu < words * kWordBits; ++cpu) {
    mask[cpu / kWordBits] |= 1UL << (cpu % kWordBits);
  }
  return NVML_SUCCESS;
}

// Accepts "0000:01:00.0" and, with NVML's own eight digits of the domain, "00000000:01:00.0".
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* id, nvmlDevice_t* device) {
  unsigned int domain = 0;
  unsigned int bus = 0;
  const bool read = std::sscanf(id, "%x:%x:", &domain, &bus) == 2;
  if (!read || bus == 0 || bus > CountDevices()) return NVML_ERROR_NOT_FOUND;
  *device = HandleOf(bus - 1);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
  *index = IndexOf(device);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t, nvmlDevice_t, int, int* status) {
  const char* const peer_access = std::getenv("FAKE_CUDA_PEER_ACCESS");
  const bool has = peer_access != nullptr && std::strcmp(peer_access, "1") == 0;
  *status = has ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED;
  return NVML_SUCCESS;
}

// Not offered. NCCL 2.30.7 calls it for GPUs without a folder in /sys, such as these, with 52 bytes
// of its stack for the 68 bytes that the real function writes.
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t, void*) { return NVML_ERROR_NOT_SUPPORTED; }

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t, unsigned int* generation) {
  *generation = 5;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t, unsigned int* width) {
  *width = 16;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t, unsigned int, int* active) {
  *active = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t, unsigned int, int, unsigned int* result) {
  *result = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t, unsigned int, void*) {
  return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t, int, void*) { return NVML_ERROR_NOT_SUPPORTED; }

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t, void*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t, int*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t, void*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t, void*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlSystemGetConfComputeState(void*) { return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlSystemGetConfComputeSettings(void*) { return NVML_ERROR_NOT_SUPPORTED; }

// Lists another process on every GPU. Lists this process too if FAKE_NVML_MIB says how much it
// uses.
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* count,
                                                     nvmlProcessInfo_t* processes) {
  const char* const mebibytes = std::getenv("FAKE_NVML_MIB");
  const bool used = mebibytes != nullptr && IndexOf(device) < kUsedDevices;
  const unsigned int listed = used ? 2 : 1;
  if (*count < listed) return NVML_ERROR_INSUFFICIENT_SIZE;
  *count = listed;
  processes[0] = {1, 1000 * kMebibyte, 0, 0};
  if (!used) return NVML_SUCCESS;
  processes[1] = {static_cast<unsigned int>(getpid()),
                  std::strtoull(mebibytes, nullptr, 10) * kMebibyte, 0, 0};
  return NVML_SUCCESS;
}

}  // extern "C"
