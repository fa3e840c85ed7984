#include "client/launcher/process/process_tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/observe/proc/proc.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

constexpr absl::Duration kSweepPause = absl::Milliseconds(2);
constexpr absl::Duration kSweepPatience = absl::Seconds(5);

// Returns the processes that have not ended, by parent.
std::unordered_map<pid_t, std::vector<ProcessInfo>> ChildrenByParent() {
  std::unordered_map<pid_t, std::vector<ProcessInfo>> children;
  for (pid_t pid : observe::AllProcesses()) {
    const std::optional<observe::ProcessStat> stat = observe::ProcessStatOf(pid);
    if (!stat || stat->ended()) continue;
    children[stat->parent].push_back(
        {pid, stat->parent, stat->group, stat->session, stat->start_ticks, stat->name});
  }
  return children;
}

// Returns whether this process has children. A subreaper without children has no descendants.
bool HasChildren() {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// Reaps the children that have ended. Returns false once this process has no children.
bool ReapEndedChildren() {
  while (true) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0 && errno != EINTR) return false;
  }
}

}  // namespace

void BecomeSubreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<ProcessInfo> Descendants(pid_t root) {
  if (root == getpid() && !HasChildren()) return {};
  std::unordered_map<pid_t, std::vector<ProcessInfo>> children = ChildrenByParent();
  std::vector<ProcessInfo> found = children[root];
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<ProcessInfo> next = children[found[i].pid];
    found.insert(found.end(), next.begin(), next.end());
  }
  return found;
}

void EraseIf(std::vector<ProcessInfo>* processes,
             const std::function<bool(const ProcessInfo&)>& condition) {
  processes->erase(std::remove_if(processes->begin(), processes->end(), condition),
                   processes->end());
}

std::vector<ProcessInfo> WithoutDescendantsOf(std::set<pid_t> known,
                                              std::vector<ProcessInfo> processes) {
  const auto stems_from_known = [&](const ProcessInfo& process) {
    for (pid_t pid : {process.pid, process.parent, process.group, process.session}) {
      if (known.count(pid) > 0) return true;
    }
    return false;
  };
  for (bool found = true; found;) {  // a new member may lead to others
    found = false;
    for (const ProcessInfo& process : processes) {
      if (stems_from_known(process)) found |= known.insert(process.pid).second;
    }
  }
  EraseIf(&processes, stems_from_known);
  return processes;
}

int ChildSignalFd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void KillDescendants(const std::function<Leftovers()>& pick) {
  // A process may fork between pick() and kill(). Therefore repeats until pick() returns none.
  const absl::Time give_up = SteadyNow() + kSweepPatience;
  while (ReapEndedChildren() && SteadyNow() < give_up) {
    const Leftovers left = pick();
    int signalled = 0;
    for (const ProcessInfo& process : left.processes) {
      if (kill(process.pid, SIGKILL) == 0) ++signalled;
    }
    if (signalled == 0 && left.undecided.empty()) return;
    absl::SleepFor(kSweepPause);
  }
}

}  // namespace muster::launcher
