#include "client/launcher/process/cleanup.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/launcher/process/kill_patience.h"

namespace muster::launcher {
namespace {

constexpr absl::Duration kUndecidedPatience = absl::Seconds(2);

std::string Names(const std::vector<ProcessInfo>& processes) {
  constexpr size_t kMaxNames = 5;
  std::string text;
  for (size_t i = 0; i < std::min(processes.size(), kMaxNames); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", processes[i].name, " (pid ", processes[i].pid, ")");
  }
  if (processes.size() > kMaxNames)
    absl::StrAppend(&text, ", ", processes.size() - kMaxNames, " more");
  return text;
}

}  // namespace

Cleanup::Cleanup(Pick pick, Say say, absl::Duration grace, absl::Time now)
    : pick_(std::move(pick)), say_(std::move(say)), grace_(grace), deadline_(now + grace) {}

bool Cleanup::Step(absl::Time now) {
  const Leftovers picked = pick_();
  std::vector<ProcessInfo> left = picked.processes;
  for (const ProcessInfo& process : left) {
    // A process that was not there before is new: leftovers may fork while they are ended.
    if (signalled_.insert(process.pid).second) Signal(process, killing_ ? SIGKILL : SIGTERM);
  }
  EraseIf(&left, [this](const ProcessInfo& p) { return given_up_.count(p.pid) > 0; });
  if (!left.empty() && now >= deadline_) Escalate(left, now);
  return !Undecided(picked.undecided, now) && left.empty();
}

bool Cleanup::Undecided(const std::vector<ProcessInfo>& processes, absl::Time now) {
  bool undecided = false;
  for (const ProcessInfo& process : processes) {
    if (now < undecided_since_.emplace(process.pid, now).first->second + kUndecidedPatience) {
      undecided = true;
    } else if (given_up_.insert(process.pid).second) {
      say_(absl::StrCat("cannot tell whether a rank left ", Names({process}),
                        " in the background: a driver or a file system may hold its memory map; it "
                        "is left running until the run ends"));
    }
  }
  return undecided;
}

void Cleanup::Signal(const ProcessInfo& process, int signal) {
  const bool refused = kill(process.pid, signal) != 0 && errno == EPERM;
  kill(process.pid, SIGCONT);  // a stopped process handles no other signal
  if (!refused || !given_up_.insert(process.pid).second) return;
  say_(absl::StrCat(
      Names({process}),
      ", which a rank left in the background, belongs to another user and cannot be ended; "
      "it is left running"));
}

void Cleanup::Escalate(const std::vector<ProcessInfo>& left, absl::Time now) {
  if (!std::exchange(killing_, true)) {
    if (deadline_ != absl::InfinitePast()) {
      say_(absl::StrCat(Names(left), ", left in the background by a rank, did not end within ",
                        absl::FormatDuration(grace_), " of SIGTERM; sending SIGKILL"));
    }
    deadline_ = now + kKillPatience;
    for (const ProcessInfo& process : left) Signal(process, SIGKILL);
    return;
  }
  say_(absl::StrCat(Names(left),
                    " did not end on SIGKILL: in an uninterruptible system call (a driver, a file "
                    "system?); it is left behind"));
  for (const ProcessInfo& process : left) given_up_.insert(process.pid);
}

}  // namespace muster::launcher
