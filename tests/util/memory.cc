#include "tests/util/memory.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

// "VmRSS:      1234 kB"
uint64_t Field(pid_t pid, const std::string& name) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  for (std::string word; file >> word;) {
    uint64_t kilobytes = 0;
    if (word == name && file >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

}  // namespace

uint64_t ResidentBytes(pid_t pid) { return Field(pid, "VmRSS:"); }
uint64_t PeakResidentBytes(pid_t pid) { return Field(pid, "VmHWM:"); }

}  // namespace muster::testing
