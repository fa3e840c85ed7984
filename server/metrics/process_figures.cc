#include "server/metrics/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace muster::metrics {
namespace {

std::string Read(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The fields of /proc/self/stat after the program's name. The name is the second field and may
// contain any character.
class Stat {
 public:
  Stat() : text_(Read("/proc/self/stat")) {
    const size_t name_ends = text_.rfind(')');
    if (name_ends != std::string::npos) {
      fields_ = absl::StrSplit(absl::string_view(text_).substr(name_ends + 1), ' ',
                               absl::SkipWhitespace());
    }
  }

  // Returns a field by its number in proc(5), from 3 on.
  std::optional<double> Field(size_t number) const {
    double value = 0;
    if (number - 3 >= fields_.size() || !absl::SimpleAtod(fields_[number - 3], &value)) {
      return std::nullopt;
    }
    return value;
  }

 private:
  const std::string text_;
  std::vector<absl::string_view> fields_;
};

// Returns the boot time, in seconds since 1970.
std::optional<double> BootTime() {
  for (absl::string_view line : absl::StrSplit(Read("/proc/stat"), '\n')) {
    double time = 0;
    if (absl::StartsWith(line, "btime ") && absl::SimpleAtod(line.substr(6), &time)) return time;
  }
  return std::nullopt;
}

std::optional<double> OpenDescriptors() {
  std::error_code error;
  std::filesystem::directory_iterator folder("/proc/self/fd", error);
  if (error) return std::nullopt;
  const auto open = std::distance(begin(folder), end(folder));
  return static_cast<double>(open - 1);  // without the one that reads the folder
}

std::optional<double> MostDescriptors() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

std::optional<double> CpuSeconds() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::optional<double> StartTime(const Stat& stat) {
  const std::optional<double> boot = BootTime();
  const std::optional<double> ticks = stat.Field(22);
  if (!boot || !ticks) return std::nullopt;
  return *boot + *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::optional<double> ResidentBytes(const Stat& stat) {
  const std::optional<double> pages = stat.Field(24);
  if (!pages) return std::nullopt;
  return *pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Families ProcessFigures() {
  const Stat stat;
  Families families;
  const auto gauge = [&families](const char* name, const char* help, std::optional<double> value) {
    if (value) families.push_back(Gauge(name, help, *value));
  };
  if (const std::optional<double> cpu = CpuSeconds()) {
    families.push_back(Counter("process_cpu_seconds_total",
                               "Processor time that musterd has used, in seconds.", *cpu));
  }
  gauge("process_resident_memory_bytes", "Memory of musterd that is in RAM.", ResidentBytes(stat));
  gauge("process_virtual_memory_bytes", "Address space of musterd.", stat.Field(23));
  gauge("process_open_fds", "File descriptors that musterd has open.", OpenDescriptors());
  gauge("process_max_fds", "File descriptors that musterd may have open.", MostDescriptors());
  gauge("process_start_time_seconds", "When musterd was started, in seconds since 1970.",
        StartTime(stat));
  gauge("process_threads", "Threads of musterd.", stat.Field(20));
  return families;
}

}  // namespace muster::metrics
