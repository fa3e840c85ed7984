#include "client/launcher/binding/gpu_cpus.h"

#include <dlfcn.h>

#include <array>
#include <climits>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::launcher {
namespace {

constexpr int kSuccess = 0;
constexpr size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
constexpr size_t kMaskWords = 8192 / kWordBits;

using Device = void*;

// The functions of NVML that this file uses.
class Nvml {
 public:
  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    int (*init)() = nullptr;
    Load(library, "nvmlInit_v2", &init);
    Load(library, "nvmlDeviceGetCount_v2", &count_);
    Load(library, "nvmlDeviceGetHandleByIndex_v2", &by_index_);
    Load(library, "nvmlDeviceGetHandleByUUID", &by_uuid_);
    Load(library, "nvmlDeviceGetCpuAffinity", &affinity_);
    Load(library, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &parent_of_mig_);
    ready_ = init && count_ && by_index_ && affinity_ && init() == kSuccess;
  }

  unsigned Count() const {
    unsigned count = 0;
    return ready_ && count_(&count) == kSuccess ? count : 0;
  }

  // Returns the device of an entry of CUDA_VISIBLE_DEVICES, or null.
  Device Find(const std::string& entry) const {
    Device device = nullptr;
    unsigned index = 0;
    if (absl::SimpleAtoi(entry, &index)) {
      return by_index_(index, &device) == kSuccess ? device : nullptr;
    }
    if (by_uuid_ == nullptr || by_uuid_(entry.c_str(), &device) != kSuccess) return nullptr;
    Device parent = nullptr;
    const bool is_mig = parent_of_mig_ != nullptr && parent_of_mig_(device, &parent) == kSuccess;
    return is_mig ? parent : device;
  }

  // Returns the CPUs near the device, or none if NVML does not know.
  Cpus CpusNear(Device device) const {
    std::array<unsigned long, kMaskWords> mask = {};
    Cpus cpus;
    if (affinity_(device, kMaskWords, mask.data()) != kSuccess) return cpus;
    for (size_t cpu = 0; cpu < kMaskWords * kWordBits; ++cpu) {
      if (mask[cpu / kWordBits] >> (cpu % kWordBits) & 1) cpus.push_back(static_cast<int>(cpu));
    }
    return cpus;
  }

 private:
  template <class Function>
  static void Load(void* library, const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(dlsym(library, name));
  }

  bool ready_ = false;
  int (*count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, Device*) = nullptr;
  int (*by_uuid_)(const char*, Device*) = nullptr;
  int (*affinity_)(Device, unsigned, unsigned long*) = nullptr;
  int (*parent_of_mig_)(Device, Device*) = nullptr;
};

}  // namespace

std::vector<Cpus> CpusNearGpus(const std::optional<std::string>& visible_devices) {
  const Nvml nvml;
  const unsigned count = nvml.Count();
  std::vector<Cpus> near;
  if (count == 0) return near;
  std::vector<std::string> entries;
  if (visible_devices) {
    entries = absl::StrSplit(*visible_devices, ',');
  } else {
    for (unsigned i = 0; i < count; ++i) entries.push_back(absl::StrCat(i));
  }
  for (const std::string& entry : entries) {
    Device const device = nvml.Find(std::string(absl::StripAsciiWhitespace(entry)));
    if (device == nullptr) break;
    near.push_back(nvml.CpusNear(device));
  }
  return near;
}

}  // namespace muster::launcher
