#ifndef MUSTER_CLIENT_OBSERVE_SIGHT_H_
#define MUSTER_CLIENT_OBSERVE_SIGHT_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/observe/proc.h"
#include "common/process_condition.h"

namespace muster::observe {

// What a process is doing, as its kernel shows it: RankObservation of proto/muster/v1 has what each
// field means.
struct Sight {
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

// Since when first threads have not run. Asked from time to time, so that a later look can say for
// how long a process has been where it is.
class Stillness {
 public:
  // RunCountOf() of the first threads; others are forgotten.
  void Note(const std::map<pid_t, std::string>& run_counts, absl::Time now);
  // Nothing where that was not seen.
  std::optional<absl::Duration> Of(pid_t pid, absl::Time now) const;

 private:
  struct Seen {
    std::string runs;
    absl::Time since;
  };
  std::map<pid_t, Seen> seen_;
};

// The process that does a rank's work: the one that was started, or where that waits for a child,
// as a shell does, that child.
pid_t WorkerOf(pid_t started);

// A thread that is uninterruptible, and has not run for so long. Blocks for that time where one is
// uninterruptible now.
std::optional<ThreadStat> StuckThread(pid_t pid, absl::Duration apart);

// Two looks at the threads of a process, and what they tell together.
class Look {
 public:
  explicit Look(pid_t pid);
  // The second one, `apart` later or more. Of unknown condition where it was held() meanwhile.
  Sight Take(absl::Duration apart);
  // Whether a helper program of this process's (helper_program.h), a debugger, had hold of it at
  // one of the looks: what it does by itself could not be seen then.
  bool held() const { return held_; }
  // Each thread's part of a processor between the two, in percent.
  const std::vector<std::pair<ThreadStat, int>>& threads() const { return threads_; }

 private:
  using Entry = std::pair<ThreadStat, int>;

  void Compare();
  void Fill(Sight* sight) const;
  // What the process does, and the thread that shows it.
  std::pair<ProcessCondition, const Entry*> Decide() const;
  void DescribeCall(const ThreadStat& thread, Sight* sight) const;
  // Null: there is none.
  const Entry* StuckThread() const;
  const Entry* BusyThread() const;
  const Entry* TellingThread() const;

  const pid_t pid_;
  bool held_;
  const std::chrono::steady_clock::time_point begin_;
  const std::vector<ThreadStat> first_;
  std::vector<Entry> threads_;
};

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_SIGHT_H_
