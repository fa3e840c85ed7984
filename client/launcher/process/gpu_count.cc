#include "client/launcher/process/gpu_count.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::launcher {
namespace {

namespace fs = std::filesystem;

bool IsGpu(const std::string& file_name) {
  absl::string_view number = file_name;
  return absl::ConsumePrefix(&number, "nvidia") && !number.empty() &&
         std::all_of(number.begin(), number.end(), absl::ascii_isdigit);
}

int CountDeviceFiles(const std::string& folder) {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (IsGpu(entry->path().filename().string())) ++count;
  }
  return count;
}

}  // namespace

int CountGpus(const std::optional<std::string>& visible_devices, const std::string& device_folder) {
  const int present = CountDeviceFiles(device_folder);
  if (!visible_devices || present == 0) return present;
  int count = 0;
  for (absl::string_view device : absl::StrSplit(*visible_devices, ',')) {
    device = absl::StripAsciiWhitespace(device);
    if (device.empty() || device == "-1" || device == "NoDevFiles") break;
    ++count;
  }
  return count;
}

int CountOwnGpus() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return CountGpus(visible == nullptr ? std::optional<std::string>() : visible, "/dev");
}

}  // namespace muster::launcher
