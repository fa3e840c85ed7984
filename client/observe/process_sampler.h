#ifndef MUSTER_CLIENT_OBSERVE_PROCESS_SAMPLER_H_
#define MUSTER_CLIENT_OBSERVE_PROCESS_SAMPLER_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/observe/proc/proc.h"
#include "common/rpc/process_condition.h"

// Finds out what a process without progress is doing. The launcher inspects its ranks with it:
//
//   proc, system_calls, sockets, locks   what /proc says: states, calls, descriptors, deadlocks
//   process_sampler, idle_sampler        what a process does, and since when
//   bundle, redact, ras_client           the files of a hang bundle, without secrets
//   bounded_work, helper_program         time limits for /proc and for debuggers
//
// It must not change the process, except that a debugger stops it for a moment. It knows neither
// the protocol nor ranks. Every read of /proc may hang with the process: see proc.h. Tests:
// tests/client/observe.
namespace muster::observe {

// The activity of a process, as the kernel shows it. The fields are those of RankObservation
// (proto/muster/v1), which explains them.
struct ProcessSnapshot {
  pid_t pid = 0;
  ProcessCondition condition = ProcessCondition::kUnknown;
  std::string call;
  std::string target;
  std::optional<absl::Duration> in_call_for;
  int cpu_percent = 0;
  std::string thread;
  std::string blocked_by;
  bool dead_lock = false;
  std::string kernel_function;
};

// Remembers since when the main threads of processes have not run. An IdleSampler updates it
// regularly, so that an inquiry can say how long a process has been in its call.
class IdleTracker {
 public:
  // Updates from the RunCountOf() of main threads. Forgets processes that are not listed.
  void Update(const std::map<pid_t, std::string>& run_counts, absl::Time now);
  // Returns how long the process has not run, or nullopt if that was not observed.
  std::optional<absl::Duration> IdleTime(pid_t pid, absl::Time now) const;

 private:
  struct LastRun {
    std::string runs;
    absl::Time since;
  };
  std::map<pid_t, LastRun> last_runs_;
};

// Returns the process that does a rank's work. If the started process waits for a child, as a shell
// does, this is the child.
pid_t WorkerOf(pid_t started);

// Returns a thread that is uninterruptible (state D) and has not run for the time `interval`.
// Blocks for that time if any thread is uninterruptible now.
std::optional<ThreadStat> StuckThread(pid_t pid, absl::Duration interval);

// Two samples of a process's threads, and the conclusion from both:
//
//   ProcessSampler sampler(pid);                       // the first sample
//   ProcessSnapshot snapshot = sampler.Take(interval);  // waits, takes the second one and decides
class ProcessSampler {
 public:
  explicit ProcessSampler(pid_t pid);
  // Sleeps for `interval`, takes the second sample and returns what the process does. Its condition
  // is unknown if the process was held().
  ProcessSnapshot Take(absl::Duration interval);
  // Returns whether a debugger that this process runs (helper_program.h) held the process at either
  // sample. Its own activity is not visible then.
  bool held() const { return held_; }
  // Returns each thread's CPU use between the samples, in percent of one core.
  const std::vector<std::pair<ThreadStat, int>>& threads() const { return threads_; }

 private:
  using Entry = std::pair<ThreadStat, int>;

  void Compare();
  void Fill(ProcessSnapshot* snapshot) const;
  // Returns what the process does, and the thread that shows it.
  std::pair<ProcessCondition, const Entry*> Decide() const;
  void DescribeCall(const ThreadStat& thread, ProcessSnapshot* snapshot) const;
  // These return null if there is no such thread.
  const Entry* StuckThread() const;
  const Entry* BusyThread() const;
  const Entry* InformativeThread() const;

  const pid_t pid_;
  bool held_;
  const std::chrono::steady_clock::time_point begin_;
  const std::vector<ThreadStat> first_;
  std::vector<Entry> threads_;
};

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_PROCESS_SAMPLER_H_
