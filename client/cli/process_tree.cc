#include "client/cli/process_tree.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace muster::cli {
namespace {

constexpr absl::Duration kSweepPause = absl::Milliseconds(2);

// 0 where the process has gone.
pid_t ParentOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::stringstream stat;
  stat << file.rdbuf();
  // "pid (command) state parent ...": the command may hold anything, parentheses too.
  const std::string text = stat.str();
  const size_t command_end = text.rfind(')');
  pid_t parent = 0;
  if (command_end == std::string::npos) return 0;
  return std::sscanf(text.c_str() + command_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

std::unordered_map<pid_t, std::vector<pid_t>> ChildrenByParent() {
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return children;
  while (const dirent* entry = readdir(proc.get())) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid)) children[ParentOf(pid)].push_back(pid);
  }
  return children;
}

// False once this process has no children, which of a subreaper means no descendants either.
bool ReapWhatHasEnded() {
  while (true) {
    const pid_t pid = waitpid(-1, nullptr, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0 && errno != EINTR) return false;
  }
}

}  // namespace

void BecomeSubreaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> Descendants(pid_t root) {
  std::unordered_map<pid_t, std::vector<pid_t>> children = ChildrenByParent();
  std::vector<pid_t> found = children[root];
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<pid_t> next = children[found[i]];
    found.insert(found.end(), next.begin(), next.end());
  }
  return found;
}

void KillDescendants() {
  // A process may fork between the look and the signal: hence again, until there is none.
  while (ReapWhatHasEnded()) {
    for (pid_t pid : Descendants(getpid())) kill(pid, SIGKILL);
    absl::SleepFor(kSweepPause);
  }
}

}  // namespace muster::cli
