#include "client/observe/proc/locks.h"

#include <linux/futex.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/observe/proc/proc.h"
#include "client/observe/proc/system_calls.h"

namespace muster::observe {
namespace {

constexpr size_t kMaxChain = 16;

// The first fields of glibc's pthread_mutex_t.
struct MutexHead {
  int32_t lock;
  uint32_t count;
  int32_t owner;
};
constexpr int32_t kContended = 2;

bool IsThreadOf(pid_t pid, pid_t tid) { return tid > 0 && ThreadStatOf(pid, tid).has_value(); }

// Threads, each with its RunCountOf() from before it was inspected.
using Visited = std::vector<std::pair<pid_t, std::string>>;

bool IsAmong(pid_t tid, const Visited& visited) {
  return std::any_of(visited.begin(), visited.end(),
                     [tid](const auto& thread) { return thread.first == tid; });
}

// Returns whether no visited thread has run. A running thread's count changes only when it stops
// running, so each must also be in a system call.
bool HaveNotRun(pid_t pid, const Visited& visited) {
  return std::all_of(visited.begin(), visited.end(), [pid](const auto& thread) {
    return SystemCallOf(pid, thread.first) && RunCountOf(pid, thread.first) == thread.second;
  });
}

}  // namespace

std::optional<pid_t> AwaitedThread(pid_t pid, pid_t tid) {
  const std::optional<SystemCall> call = SystemCallOf(pid, tid);
  if (!call || !IsFutexWait(*call)) return std::nullopt;
  // pthread_join() waits on the word with the thread's id, which it passes as the futex value. The
  // kernel clears this word when the thread ends, with a wake-up that is not process-private.
  const auto value = static_cast<pid_t>(call->arguments[2]);
  const bool is_private = (call->arguments[1] & FUTEX_PRIVATE_FLAG) != 0;
  if (!is_private && value > kContended && value != tid && IsThreadOf(pid, value)) return value;
  MutexHead head = {};
  if (!ReadMemory(tid, call->arguments[0], &head, sizeof(head))) return std::nullopt;
  const bool is_mutex = value == kContended && head.lock == kContended;
  // The owner may be the same thread, if it locks a mutex twice.
  if (is_mutex && IsThreadOf(pid, head.owner)) return head.owner;
  return std::nullopt;
}

LockChain FollowLocks(pid_t pid, pid_t tid) {
  LockChain chain;
  Visited visited;
  while (chain.threads.size() < kMaxChain) {
    visited.emplace_back(tid, RunCountOf(pid, tid));
    const std::optional<pid_t> next = AwaitedThread(pid, tid);
    if (!next) break;
    chain.cycle = IsAmong(*next, visited);
    // A thread that has run meanwhile is not deadlocked: threads may just take the same locks in
    // turn.
    if (chain.cycle && !HaveNotRun(pid, visited)) return {};
    chain.threads.push_back(*next);
    if (chain.cycle) break;
    tid = *next;
  }
  return chain;
}

std::string NameOfThread(pid_t pid, pid_t tid) {
  const std::optional<ThreadStat> stat = ThreadStatOf(pid, tid);
  return absl::StrCat("thread ", tid, stat ? absl::StrCat(" ('", stat->name, "')") : "");
}

std::string Describe(pid_t pid, const LockChain& chain) {
  std::string text;
  for (pid_t tid : chain.threads) {
    absl::StrAppend(&text, text.empty() ? "" : ", which waits for ", NameOfThread(pid, tid));
  }
  if (chain.cycle && chain.threads.size() == 1) {
    return absl::StrCat(text, ", which is the same one: it has locked that already");
  }
  if (chain.threads.empty() || chain.cycle) return text;
  const std::optional<SystemCall> call = SystemCallOf(pid, chain.threads.back());
  if (!call || call->number < 0) return text;
  const std::string target = TargetOf(chain.threads.back(), *call);
  return absl::StrCat(text, ", which is in ", SystemCallName(call->number), "()",
                      target.empty() ? "" : absl::StrCat(" of ", target));
}

}  // namespace muster::observe
