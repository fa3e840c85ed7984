#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_CLEANUP_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_CLEANUP_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/process/process_tree.h"

namespace muster::launcher {

// Ends the processes that ranks left behind. Sends SIGTERM first, because an uploader may have work
// to finish, and SIGKILL after the grace period. If a process cannot be signalled, or does not end,
// Cleanup tells the user and leaves it running. Nothing here blocks: call Step() until it returns
// true.
class Cleanup {
 public:
  using Pick = std::function<Leftovers()>;
  using Say = std::function<void(const std::string&)>;

  // `pick` returns the leftovers that have not ended yet; Step() calls it each time. A process that
  // stays undecided for two seconds is left running. `now` is SteadyNow(), here and below.
  Cleanup(Pick pick, Say say, absl::Duration grace, absl::Time now);

  // Sends the signals that are due. Returns true when no process is left that this object could
  // end.
  bool Step(absl::Time now);

  // Cuts the grace period short: the next Step() sends SIGKILL.
  void SkipGrace() {
    if (!killing_) deadline_ = absl::InfinitePast();
  }

 private:
  // Returns whether `processes`, which are undecided, include one that may still be decided.
  bool Undecided(const std::vector<ProcessInfo>& processes, absl::Time now);
  void Signal(const ProcessInfo& process, int signal);
  void Escalate(const std::vector<ProcessInfo>& left, absl::Time now);

  const Pick pick_;
  const Say say_;
  const absl::Duration grace_;
  absl::Time deadline_;
  bool killing_ = false;
  std::set<pid_t> signalled_;
  std::map<pid_t, absl::Time> undecided_since_;
  std::set<pid_t> given_up_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_CLEANUP_H_
