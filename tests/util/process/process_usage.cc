#include "tests/util/process/process_usage.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

std::string ProcFile(pid_t pid, const char* name) { return absl::StrCat("/proc/", pid, "/", name); }

}  // namespace

Memory MemoryOf(pid_t pid) {
  Memory memory;
  std::ifstream status(ProcFile(pid, "status"));
  std::string key;
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    int64_t kib = 0;
    if (!(fields >> key >> kib)) continue;
    if (key == "VmRSS:") memory.resident = kib * 1024;
    if (key == "VmHWM:") memory.peak = kib * 1024;
  }
  return memory;
}

void ResetPeak(pid_t pid) { std::ofstream(ProcFile(pid, "clear_refs")) << "5"; }

// See proc(5). The name may contain any character but a closing parenthesis. After it, user and
// system time are the 12th and 13th field.
ProcessorTime ProcessorTimeOf(pid_t pid) {
  std::ostringstream text;
  text << std::ifstream(ProcFile(pid, "stat")).rdbuf();
  std::istringstream fields(text.str().substr(text.str().rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  fields >> user >> system;
  const absl::Duration tick = absl::Seconds(1) / sysconf(_SC_CLK_TCK);
  return {user * tick, system * tick};
}

}  // namespace muster::testing
