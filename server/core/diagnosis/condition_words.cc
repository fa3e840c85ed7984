#include "server/core/diagnosis/condition_words.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

bool Writes(const RankObservation& seen) {
  return absl::StrContains(seen.call, "write") || absl::StrContains(seen.call, "splice");
}

// Returns whether the target is a pipe or a pseudo-terminal, which carry a rank's output.
bool IsPipe(absl::string_view target) {
  return absl::StrContains(target, "pipe") || absl::StartsWith(target, "/dev/pts/");
}

std::string ForHowLong(const RankObservation& seen) {
  return seen.in_call_for ? absl::StrCat(" for ", HowLong(*seen.in_call_for)) : "";
}

// Returns text such as "read() of /data/shard-7".
std::string DescribeCall(const RankObservation& seen) {
  if (seen.call.empty()) return "a system call";
  if (seen.target.empty()) return absl::StrCat(seen.call, "()");
  return absl::StrCat(seen.call, "() of ", seen.target);
}

// Returns "it", or the name of the thread that was observed.
std::string Subject(const RankObservation& seen) {
  return seen.thread.empty() ? "it" : absl::StrCat("its ", seen.thread);
}

std::string DescribeSleep(const RankObservation& seen) {
  const std::string lock =
      seen.blocked_by.empty() ? "" : absl::StrCat(": it waits for its ", seen.blocked_by);
  return absl::StrCat(Subject(seen), " is in ", DescribeCall(seen), ForHowLong(seen), lock);
}

std::string DescribeDisk(const RankObservation& seen) {
  const std::string where = seen.kernel_function.empty()
                                ? ""
                                : absl::StrCat(", at ", seen.kernel_function, "() in the kernel");
  return absl::StrCat(Subject(seen), " is in ", DescribeCall(seen), ForHowLong(seen),
                      ", which no signal ends (state D", where,
                      "): a disk, a file system or a driver does not answer");
}

}  // namespace

VerdictKind KindOf(const RankObservation& seen) {
  switch (seen.condition) {
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
      if (seen.dead_lock) return VerdictKind::kDeadLock;
      if (Writes(seen) && IsPipe(seen.target)) return VerdictKind::kFullPipe;
      return VerdictKind::kInACall;
    case ProcessCondition::kUnknown:
      break;
  }
  return VerdictKind::kUnknown;
}

std::string DescribeCondition(const RankObservation& seen) {
  switch (KindOf(seen)) {
    case VerdictKind::kStopped:
      return seen.condition == ProcessCondition::kTraced
                 ? "a debugger holds it"
                 : absl::StrCat("it is stopped; 'kill -CONT ", seen.pid, "' continues it");
    case VerdictKind::kEnded:
      return "its process has ended";
    case VerdictKind::kDeadLock:
      return absl::StrCat("dead lock: ", Subject(seen), " waits for its ", seen.blocked_by,
                          ForHowLong(seen));
    case VerdictKind::kUninterruptible:
      return DescribeDisk(seen);
    case VerdictKind::kFullPipe:
      return absl::StrCat(DescribeSleep(seen), ", which is full: its reader does not read");
    case VerdictKind::kInACall:
      return DescribeSleep(seen);
    case VerdictKind::kBusy:
      return absl::StrCat(Subject(seen), " computes (", seen.cpu_percent, " % of a processor)");
    default:
      return "nobody could see what it is doing";
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
      return 3;
    case VerdictKind::kBusy:
      return 2;
    default:
      return 1;
  }
}

}  // namespace muster::core
