#include "client/nccl/device/gpu_memory.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "client/nccl/device/cuda_device.h"
#include "client/nccl/device/cuda_driver.h"

namespace muster::internal {
namespace {

template <class Function>
void LoadFunction(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
}

// The functions of NVML that this file uses. NVML comes with the driver, and is loaded if there is
// one.
class Nvml {
 public:
  // Returns NVML, which stays loaded until the process ends.
  static const Nvml& Get() {
    static const Nvml& nvml = *new Nvml;
    return nvml;
  }

  // Returns the bytes that a process uses on all GPUs together, or nullopt if no GPU lists the
  // process with its memory.
  std::optional<int64_t> UsedBy(pid_t pid) const {
    std::optional<int64_t> used;
    unsigned int devices = 0;
    if (!ready_ || count_(&devices) != kSuccess) return used;
    for (unsigned int index = 0; index < devices; ++index) {
      for (const Process& process : ProcessesOn(index)) {
        if (process.pid != static_cast<unsigned int>(pid)) continue;
        if (process.used_bytes == kUnknown) continue;
        used = used.value_or(0) + static_cast<int64_t>(process.used_bytes);
      }
    }
    return used;
  }

 private:
  static constexpr int kSuccess = 0;
  static constexpr unsigned int kMaxProcesses = 1024;
  static constexpr unsigned long long kUnknown = ~0ull;  // NVML_VALUE_NOT_AVAILABLE

  // A copy of nvmlProcessInfo_t, version 3.
  struct Process {
    unsigned int pid;
    unsigned long long used_bytes;
    unsigned int gpu_instance;
    unsigned int compute_instance;
  };

  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    int (*init)() = nullptr;
    LoadFunction(library, "nvmlInit_v2", &init);
    LoadFunction(library, "nvmlDeviceGetCount_v2", &count_);
    LoadFunction(library, "nvmlDeviceGetHandleByIndex_v2", &device_);
    LoadFunction(library, "nvmlDeviceGetComputeRunningProcesses_v3", &processes_);
    const bool complete = init && count_ && device_ && processes_;
    ready_ = complete && init() == kSuccess;
  }

  std::vector<Process> ProcessesOn(unsigned int index) const {
    void* device = nullptr;
    if (device_(index, &device) != kSuccess) return {};
    std::vector<Process> processes(kMaxProcesses);
    unsigned int count = kMaxProcesses;
    if (processes_(device, &count, processes.data()) != kSuccess) return {};
    processes.resize(count);
    return processes;
  }

  bool ready_ = false;
  int (*count_)(unsigned int*) = nullptr;
  int (*device_)(unsigned int, void**) = nullptr;
  int (*processes_)(void*, unsigned int*, Process*) = nullptr;
};

int64_t UsedOfCurrentGpu() {
  size_t free = 0;
  size_t total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) return static_cast<int64_t>(total - free);
  cudaGetLastError();  // else the program's next cudaGetLastError() returns it
  return 0;
}

// Returns whether the process has opened its current GPU. Asks the driver, since the runtime has no
// call that answers without opening the GPU.
bool HasOpenedCurrentGpu() {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess && CudaDriver::Get().HasOpened(device);
}

// Returns the bytes in use on the GPUs that this process has opened, or else on the current GPU.
// Prefers the former because this may be a thread that has never used CUDA, whose current GPU is
// the first one.
int64_t UsedOfOpenGpus() {
  int64_t used = 0;
  const std::vector<int> opened = OpenedDevices();
  for (const int index : opened) {
    const ScopedDevice current(index);
    used += UsedOfCurrentGpu();
  }
  return opened.empty() && HasOpenedCurrentGpu() ? UsedOfCurrentGpu() : used;
}

}  // namespace

int64_t GpuMemoryOfProcess() {
  if (!CountDevices().ok()) return 0;
  const std::optional<int64_t> used = Nvml::Get().UsedBy(getpid());
  return used ? *used : UsedOfOpenGpus();
}

}  // namespace muster::internal
