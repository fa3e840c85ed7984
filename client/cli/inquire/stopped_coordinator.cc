#include "client/cli/inquire/stopped_coordinator.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "client/observe/proc/proc.h"
#include "common/process/local_coordinators.h"

namespace muster::cli {
namespace {

constexpr char kProgram[] = "musterd";
constexpr int kAncestors = 2;  // the launcher's supervisor process, and the launcher

bool IsStopped(const observe::ProcessStat& process) { return process.state == 'T'; }

// Returns the process that SIGCONT should go to. Ctrl-Z stops the launcher, the ranks and musterd.
// SIGCONT to the launcher continues all of them, but SIGCONT to musterd continues only musterd.
int ProcessToContinue(int pid, int parent) {
  int topmost = pid;
  for (int i = 0; i < kAncestors; ++i) {
    const std::optional<observe::ProcessStat> process = observe::ProcessStatOf(parent);
    if (!process) break;
    if (IsStopped(*process)) topmost = parent;
    parent = process->parent;
  }
  return topmost;
}

}  // namespace

std::string DescribeStopped(const std::string& address) {
  for (const LocalCoordinator& local : FindLocalCoordinators()) {
    if (local.address != address) continue;
    // The pid may be from another container.
    const std::optional<observe::ProcessStat> musterd = observe::ProcessStatOf(local.pid);
    if (!musterd || !IsStopped(*musterd) || musterd->name != kProgram) continue;
    return absl::StrCat("its process ", local.pid,
                        " (musterd) is stopped, as by Ctrl-Z; continue it with fg in its shell, or "
                        "by: kill -CONT ",
                        ProcessToContinue(local.pid, musterd->parent));
  }
  return "";
}

}  // namespace muster::cli
