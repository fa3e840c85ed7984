#include "client/launcher/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/steady_now.h"

namespace muster::launcher {
namespace {

constexpr absl::Duration kSweepPause = absl::Milliseconds(2);
constexpr absl::Duration kSweepPatience = absl::Seconds(5);

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Nothing where the process has gone, or has ended and was not waited for.
std::optional<ProcessInfo> Look(pid_t pid) {
  // "pid (command) state parent group ...": the command may hold anything, parentheses too.
  const std::string stat = ReadAll(absl::StrCat("/proc/", pid, "/stat"));
  const size_t begin = stat.find('(');
  const size_t end = stat.rfind(')');
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  ProcessInfo process;
  process.pid = pid;
  process.name = stat.substr(begin + 1, end - begin - 1);
  char state = 0;
  const int found =
      std::sscanf(stat.c_str() + end,
                  ") %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
                  "%" SCNu64,
                  &state, &process.parent, &process.group, &process.session, &process.started);
  if (found != 5 || state == 'Z' || state == 'X') return std::nullopt;
  return process;
}

std::unordered_map<pid_t, std::vector<ProcessInfo>> ChildrenByParent() {
  std::unordered_map<pid_t, std::vector<ProcessInfo>> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return children;
  while (const dirent* entry = readdir(proc.get())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    if (std::optional<ProcessInfo> process = Look(pid)) {
      std::vector<ProcessInfo>& siblings = children[process->parent];
      siblings.push_back(*std::move(process));
    }
  }
  return children;
}

// False if this process has no children, which of a subreaper means no descendants either.
bool HasChildren() {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// False once this process has no children.
bool ReapWhatHasEnded() {
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

std::vector<ProcessInfo> NotOf(std::set<pid_t> known, std::vector<ProcessInfo> processes) {
  const auto comes_of_known = [&](const ProcessInfo& process) {
    for (pid_t pid : {process.pid, process.parent, process.group, process.session}) {
      if (known.count(pid) > 0) return true;
    }
    return false;
  };
  for (bool found = true; found;) {  // each may lead to more of them
    found = false;
    for (const ProcessInfo& process : processes) {
      if (comes_of_known(process)) found |= known.insert(process.pid).second;
    }
  }
  EraseIf(&processes, comes_of_known);
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
  // A process may fork between the look and the signal: hence again, until there is none.
  const absl::Time give_up = SteadyNow() + kSweepPatience;
  while (ReapWhatHasEnded() && SteadyNow() < give_up) {
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
