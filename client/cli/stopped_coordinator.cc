#include "client/cli/stopped_coordinator.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/local_coordinators.h"

namespace muster::cli {
namespace {

constexpr char kProgram[] = "musterd";
constexpr int kAncestors = 2;  // the supervisor process of a launcher, and the launcher

struct ProcessState {
  std::string name;
  bool stopped = false;
  int parent = 0;
};

// Nullopt if there is no such process here: its pid may be of another container.
std::optional<ProcessState> ReadState(int pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = text.find('('), end = text.rfind(')');  // the name may have either
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  ProcessState process;
  char state = '?';
  std::istringstream rest(text.substr(end + 1));
  rest >> state >> process.parent;
  process.name = text.substr(begin + 1, end - begin - 1);
  process.stopped = state == 'T';
  return process;
}

// Ctrl-Z in front of a launcher stops the launcher, the ranks and musterd. SIGCONT to the launcher
// continues all of them; to musterd it continues musterd alone.
int ProcessToContinue(int pid, int parent) {
  int topmost = pid;
  for (int i = 0; i < kAncestors; ++i) {
    const std::optional<ProcessState> process = ReadState(parent);
    if (!process) break;
    if (process->stopped) topmost = parent;
    parent = process->parent;
  }
  return topmost;
}

}  // namespace

std::string DescribeStopped(const std::string& address) {
  for (const LocalCoordinator& local : FindLocalCoordinators()) {
    if (local.address != address) continue;
    const std::optional<ProcessState> musterd = ReadState(local.pid);
    if (!musterd || !musterd->stopped || musterd->name != kProgram) continue;
    return absl::StrCat("its process ", local.pid,
                        " (musterd) is stopped, as by Ctrl-Z; continue it with fg in its shell, or "
                        "by: kill -CONT ",
                        ProcessToContinue(local.pid, musterd->parent));
  }
  return "";
}

}  // namespace muster::cli
