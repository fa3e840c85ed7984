#include "server/core/diagnosis/condition_description.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

bool Writes(const RankObservation& observation) {
  return absl::StrContains(observation.call, "write") ||
         absl::StrContains(observation.call, "splice");
}

// Returns whether the target is a pipe or a pseudo-terminal, which carry a rank's output.
bool IsPipe(absl::string_view target) {
  return absl::StrContains(target, "pipe") || absl::StartsWith(target, "/dev/pts/");
}

std::string ForHowLong(const RankObservation& observation) {
  return observation.in_call_for ? absl::StrCat(" for ", DescribeDuration(*observation.in_call_for))
                                 : "";
}

// Returns text such as "read() of /data/shard-7".
std::string DescribeCall(const RankObservation& observation) {
  if (observation.call.empty()) return "a system call";
  if (observation.target.empty()) return absl::StrCat(observation.call, "()");
  return absl::StrCat(observation.call, "() of ", observation.target);
}

// Returns "it", or the name of the thread that was observed.
std::string Subject(const RankObservation& observation) {
  return observation.thread.empty() ? "it" : absl::StrCat("its ", observation.thread);
}

std::string DescribeSleep(const RankObservation& observation) {
  const std::string lock = observation.blocked_by.empty()
                               ? ""
                               : absl::StrCat(": it waits for its ", observation.blocked_by);
  return absl::StrCat(Subject(observation), " is in ", DescribeCall(observation),
                      ForHowLong(observation), lock);
}

std::string DescribeDisk(const RankObservation& observation) {
  const std::string where =
      observation.kernel_function.empty()
          ? ""
          : absl::StrCat(", at ", observation.kernel_function, "() in the kernel");
  return absl::StrCat(Subject(observation), " is in ", DescribeCall(observation),
                      ForHowLong(observation), ", which no signal ends (state D", where,
                      "): a disk, a file system or a driver does not answer");
}

}  // namespace

VerdictKind KindOf(const RankObservation& observation) {
  switch (observation.condition) {
    case ProcessCondition::kStopped:
    case ProcessCondition::kTraced:
      return VerdictKind::kStopped;
    case ProcessCondition::kEnded:
      return VerdictKind::kEnded;
    case ProcessCondition::kUninterruptible:
      return VerdictKind::kUninterruptible;
    case ProcessCondition::kComputing:
      return VerdictKind::kBusy;
    case ProcessCondition::kSleeping:
      if (observation.dead_lock) return VerdictKind::kDeadLock;
      if (Writes(observation) && IsPipe(observation.target)) return VerdictKind::kFullPipe;
      return VerdictKind::kInACall;
    case ProcessCondition::kUnknown:
      break;
  }
  return VerdictKind::kUnknown;
}

std::string DescribeCondition(const RankObservation& observation) {
  switch (KindOf(observation)) {
    case VerdictKind::kStopped:
      return observation.condition == ProcessCondition::kTraced
                 ? "a debugger holds it"
                 : absl::StrCat("it is stopped; 'kill -CONT ", observation.pid, "' continues it");
    case VerdictKind::kEnded:
      return "its process has ended";
    case VerdictKind::kDeadLock:
      return absl::StrCat("deadlock: ", Subject(observation), " waits for its ",
                          observation.blocked_by, ForHowLong(observation));
    case VerdictKind::kUninterruptible:
      return DescribeDisk(observation);
    case VerdictKind::kFullPipe:
      return absl::StrCat(DescribeSleep(observation), ", which is full: its reader does not read");
    case VerdictKind::kInACall:
      return DescribeSleep(observation);
    case VerdictKind::kBusy:
      return absl::StrCat(Subject(observation), " computes (", observation.cpu_percent,
                          " % of a processor)");
    default:
      return "no launcher could inspect it";
  }
}

int Weight(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kStopped:
    case VerdictKind::kEnded:
      return 6;
    case VerdictKind::kDeadLock:
    case VerdictKind::kUninterruptible:
      return 5;
    case VerdictKind::kSilentNode:
    case VerdictKind::kFullPipe:
      return 4;
    case VerdictKind::kInACall:
    case VerdictKind::kInStore:
      return 3;
    case VerdictKind::kBusy:
      return 2;
    default:
      return 1;
  }
}

}  // namespace muster::core
