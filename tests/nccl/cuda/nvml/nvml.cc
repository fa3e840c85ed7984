// The part of the driver's management library that Muster loads, for two GPUs. README.md says what
// it tells.

#include <unistd.h>

#include <cstdlib>

namespace {

constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr unsigned int kDevices = 2;
constexpr unsigned long long kMebibyte = 1 << 20;

struct ProcessInfo {
  unsigned int pid;
  unsigned long long used_bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = kDevices;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  static char devices[kDevices];
  *device = &devices[index];
  return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, ProcessInfo* processes) {
  const char* const mebibytes = std::getenv("FAKE_NVML_MIB");
  const unsigned int listed = mebibytes == nullptr ? 1 : 2;
  if (*count < listed) return kInsufficientSize;
  *count = listed;
  processes[0] = {1, 1000 * kMebibyte, 0, 0};
  if (mebibytes == nullptr) return kSuccess;
  processes[1] = {static_cast<unsigned int>(getpid()),
                  std::strtoull(mebibytes, nullptr, 10) * kMebibyte, 0, 0};
  return kSuccess;
}

}  // extern "C"
