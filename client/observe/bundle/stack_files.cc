// Stack traces from the installed tools.

#include <signal.h>

#include <mutex>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/observe/bundle/bundle.h"
#include "client/observe/helper_program.h"
#include "client/observe/proc/locks.h"
#include "client/observe/process_sampler.h"
#include "common/process/steady_now.h"

namespace muster::observe {
namespace {

constexpr size_t kMaxStackBytes = 64 << 10;
// A disk that takes longer than this for one call may never answer.
constexpr absl::Duration kSlowDisk = absl::Seconds(1);

// The processes to which debuggers are attached.
struct Debugged {
  std::mutex mutex;
  std::set<pid_t> pids;
};
Debugged& AllDebugged() {
  static auto* const all = new Debugged;
  return *all;
}

class DebuggedScope {
 public:
  explicit DebuggedScope(pid_t pid) : pid_(pid) {
    const std::lock_guard<std::mutex> lock(AllDebugged().mutex);
    AllDebugged().pids.insert(pid);
  }
  ~DebuggedScope() {
    const std::lock_guard<std::mutex> lock(AllDebugged().mutex);
    AllDebugged().pids.erase(pid_);
  }
  DebuggedScope(const DebuggedScope&) = delete;
  DebuggedScope& operator=(const DebuggedScope&) = delete;

 private:
  const pid_t pid_;
};

bool IsStopped(pid_t pid) {
  const std::optional<ThreadStat> stat = ThreadStatOf(pid, pid);
  return stat && (stat->state == 'T' || stat->state == 't');
}

bool IsPython(pid_t pid) {
  return absl::StrContains(ReadFile(absl::StrCat("/proc/", pid, "/comm")), "python") ||
         absl::StrContains(ReadFile(absl::StrCat("/proc/", pid, "/maps"), 1 << 20), "libpython");
}

std::vector<std::string> StackCommand(pid_t pid) {
  const std::string number = absl::StrCat(pid);
  if (!FindInPath("gdb").empty()) {
    return {"gdb",
            "--batch",
            "--nx",
            "-iex",
            "set debuginfod enabled off",
            "-ex",
            "set width 0",
            "-ex",
            "set print elements 1",  // shortens strings, which may be secrets
            "-ex",
            "thread apply all backtrace 64",
            "-p",
            number};
  }
  return {"eu-stack", "-n", "64", "-p", number};
}

// Explains why there are no stacks: a debugger would wait for that thread, and stop the process
// whenever the thread becomes ready.
File ExplainMissingStacks(pid_t pid, const ThreadStat& stuck) {
  return {"stacks.txt",
          absl::StrCat("no debugger was attached: ", NameOfThread(pid, stuck.tid),
                       " is in a call that no signal ends (state D); threads.txt says in which\n")};
}

// Runs the tool and adds its output. Returns whether the tool had to be killed.
bool AddStack(const std::vector<std::string>& command, const std::string& name,
              absl::Duration timeout, std::vector<File>* files) {
  absl::StatusOr<HelperOutput> output = RunHelper(command, timeout, kMaxStackBytes);
  if (!output.ok()) return false;
  if (!output->text.empty()) files->push_back({name, std::move(output->text)});
  return output->killed;
}

}  // namespace

std::vector<File> StackFiles(pid_t pid, absl::Duration timeout) {
  // A process that is stopped already must stay stopped, and gdb could not make progress.
  if (IsStopped(pid)) return {};
  const absl::Time deadline = SteadyNow() + timeout;
  if (const auto stuck = StuckThread(pid, kSlowDisk)) return {ExplainMissingStacks(pid, *stuck)};
  std::vector<File> files;
  const DebuggedScope debugged(pid);
  bool killed = AddStack(StackCommand(pid), "stacks.txt", deadline - SteadyNow(), &files);
  if (!killed && IsPython(pid)) {
    killed = AddStack({"py-spy", "dump", "--pid", absl::StrCat(pid)}, "python.txt",
                      deadline - SteadyNow(), &files);
  }
  // A killed debugger may leave behind the SIGSTOP with which it stops the process. If a thread
  // cannot take the signal yet, it is not visible.
  if (killed || IsStopped(pid)) kill(pid, SIGCONT);
  return files;
}

bool IsBeingDebugged(pid_t pid) {
  const std::lock_guard<std::mutex> lock(AllDebugged().mutex);
  return AllDebugged().pids.count(pid) > 0;
}

}  // namespace muster::observe
