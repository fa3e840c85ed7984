#include "client/observe/process_sampler.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "client/observe/helper_program.h"
#include "client/observe/proc/locks.h"
#include "client/observe/proc/system_calls.h"

namespace muster::observe {
namespace {

// Percent of one core. A thread that only wakes up now and then uses less.
constexpr int kBusyPercent = 50;
constexpr int kMaxGenerations = 8;

// Returns whether the thread belongs to a library, and so spins or sleeps whatever the program
// does.
bool BelongsToALibrary(const ThreadStat& thread) {
  for (const char* prefix : {"NCCL", "cuda", "grpc", "default-executo", "resolver-execu", "muster-",
                             "event_engine", "timer_manager"}) {
    if (absl::StartsWith(thread.name, prefix)) return true;
  }
  return false;
}

bool IsInformative(const SystemCall& call, const std::string& target) {
  return !target.empty() && !IsFutexWait(call);
}

bool IsHeld(pid_t pid) { return IsHelper(TracerOf(pid)); }

// Returns whether the thread was and is uninterruptible, and has not run in between.
bool StaysStuck(const std::vector<ThreadStat>& first, const ThreadStat& now) {
  return now.state == 'D' && std::find(first.begin(), first.end(), now) != first.end();
}

}  // namespace

std::optional<ThreadStat> StuckThread(pid_t pid, absl::Duration interval) {
  const std::vector<ThreadStat> first = Threads(pid);
  const auto is_stuck = [](const ThreadStat& thread) { return thread.state == 'D'; };
  if (std::none_of(first.begin(), first.end(), is_stuck)) return std::nullopt;
  absl::SleepFor(interval);
  for (const ThreadStat& now : Threads(pid)) {
    if (StaysStuck(first, now)) return now;
  }
  return std::nullopt;
}

void IdleTracker::Update(const std::map<pid_t, std::string>& run_counts, absl::Time now) {
  std::map<pid_t, LastRun> last_runs;
  for (const auto& [pid, runs] : run_counts) {
    const auto before = last_runs_.find(pid);
    const bool still = before != last_runs_.end() && before->second.runs == runs;
    last_runs[pid] = still ? before->second : LastRun{runs, now};
  }
  last_runs_ = std::move(last_runs);
}

std::optional<absl::Duration> IdleTracker::IdleTime(pid_t pid, absl::Time now) const {
  const auto before = last_runs_.find(pid);
  if (before == last_runs_.end() || before->second.runs.empty()) return std::nullopt;
  if (before->second.runs != RunCountOf(pid, pid) || now <= before->second.since) {
    return std::nullopt;
  }
  return now - before->second.since;
}

pid_t WorkerOf(pid_t started) {
  pid_t pid = started;
  for (int generation = 0; generation < kMaxGenerations; ++generation) {
    const std::optional<SystemCall> call = SystemCallOf(pid, pid);
    const std::vector<pid_t> children = ChildrenOf(pid);
    if (!call || !IsChildWait(*call) || children.empty()) return pid;
    pid = children.back();
  }
  return pid;
}

ProcessSampler::ProcessSampler(pid_t pid)
    : pid_(pid),
      held_(IsHeld(pid)),
      begin_(std::chrono::steady_clock::now()),
      first_(Threads(pid)) {}

ProcessSnapshot ProcessSampler::Take(absl::Duration interval) {
  absl::SleepFor(interval);
  Compare();
  held_ = held_ || IsHeld(pid_);
  ProcessSnapshot snapshot;
  snapshot.pid = pid_;
  if (threads_.empty()) {
    snapshot.condition = ProcessCondition::kEnded;
    return snapshot;
  }
  if (!held_) Fill(&snapshot);
  return snapshot;
}

// Divides by the time that really passed. On a busy machine, where all ranks compute, it may be
// much longer than the sleep.
void ProcessSampler::Compare() {
  const std::vector<ThreadStat> threads = Threads(pid_);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  const double ticks = passed.count() * static_cast<double>(sysconf(_SC_CLK_TCK));
  for (const ThreadStat& now : threads) {
    const auto before = std::find_if(first_.begin(), first_.end(), [&](const ThreadStat& thread) {
      return thread.tid == now.tid;
    });
    // A smaller count means that another thread got this number, for example after an exec().
    const bool same = before != first_.end() && before->cpu_ticks <= now.cpu_ticks;
    const uint64_t used = same ? now.cpu_ticks - before->cpu_ticks : 0;
    threads_.emplace_back(now, static_cast<int>(100 * static_cast<double>(used) / ticks));
  }
}

const ProcessSampler::Entry* ProcessSampler::StuckThread() const {
  const auto stuck = std::find_if(threads_.begin(), threads_.end(), [this](const Entry& entry) {
    return StaysStuck(first_, entry.first);
  });
  return stuck == threads_.end() ? nullptr : &*stuck;
}

const ProcessSampler::Entry* ProcessSampler::BusyThread() const {
  const Entry* busiest = nullptr;
  for (const Entry& entry : threads_) {
    const bool ours = &entry == &threads_.front() || !BelongsToALibrary(entry.first);
    if (!ours || entry.second < kBusyPercent) continue;
    if (busiest == nullptr || entry.second > busiest->second) busiest = &entry;
  }
  return busiest;
}

// Returns a thread other than the main thread whose wait explains more than "waits for another
// thread".
const ProcessSampler::Entry* ProcessSampler::InformativeThread() const {
  for (size_t i = 1; i < threads_.size(); ++i) {
    const ThreadStat& thread = threads_[i].first;
    if (BelongsToALibrary(thread)) continue;
    if (FollowLocks(pid_, thread.tid).cycle) return &threads_[i];
    const std::optional<SystemCall> call = SystemCallOf(pid_, thread.tid);
    if (call && IsInformative(*call, TargetOf(thread.tid, *call))) return &threads_[i];
  }
  return nullptr;
}

// The first rule that applies decides.
std::pair<ProcessCondition, const ProcessSampler::Entry*> ProcessSampler::Decide() const {
  const Entry* const main = &threads_.front();
  const ThreadStat& first = main->first;
  // A main thread that called pthread_exit() leaves the process to the other threads.
  const bool has_ended = first.state == 'Z' || first.state == 'X';
  if (first.state == 'T') return {ProcessCondition::kStopped, main};
  if (first.state == 't') return {ProcessCondition::kTraced, main};
  if (has_ended && threads_.size() == 1) return {ProcessCondition::kEnded, main};
  if (const Entry* const stuck = StuckThread()) return {ProcessCondition::kUninterruptible, stuck};

  const Entry* const busy = BusyThread();
  if (busy == main) return {ProcessCondition::kComputing, main};

  const std::optional<SystemCall> call = AwaitSystemCall(pid_, first.tid);
  const bool waits_inside = has_ended || (call && IsFutexWait(*call));
  // A computing thread explains why the main thread waits for another one, but not why it reads.
  if (busy != nullptr && waits_inside) return {ProcessCondition::kComputing, busy};
  if (first.state != 'S' && !has_ended && !call) return {ProcessCondition::kComputing, main};

  const bool for_thread = !has_ended && AwaitedThread(pid_, first.tid);
  const Entry* const informative = waits_inside && !for_thread ? InformativeThread() : nullptr;
  if (informative != nullptr) return {ProcessCondition::kSleeping, informative};
  return {ProcessCondition::kSleeping, has_ended ? &threads_[1] : main};
}

void ProcessSampler::Fill(ProcessSnapshot* snapshot) const {
  const auto [condition, shown_by] = Decide();
  const auto& [thread, percent] = *shown_by;
  snapshot->condition = condition;
  snapshot->cpu_percent = percent;
  if (thread.tid != pid_) snapshot->thread = NameOfThread(pid_, thread.tid);
  if (condition == ProcessCondition::kUninterruptible || condition == ProcessCondition::kSleeping) {
    DescribeCall(thread, snapshot);
  }
}

void ProcessSampler::DescribeCall(const ThreadStat& thread, ProcessSnapshot* snapshot) const {
  snapshot->kernel_function = KernelFunctionOf(pid_, thread.tid);
  const std::optional<SystemCall> call = AwaitSystemCall(pid_, thread.tid);
  if (!call) return;
  snapshot->call = SystemCallName(call->number);
  snapshot->target = TargetOf(thread.tid, *call);
  const LockChain chain = FollowLocks(pid_, thread.tid);
  snapshot->dead_lock = chain.cycle;
  snapshot->blocked_by = Describe(pid_, chain);
}

}  // namespace muster::observe
