#ifndef MUSTER_CLIENT_LAUNCHER_CLEANUP_H_
#define MUSTER_CLIENT_LAUNCHER_CLEANUP_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/process_tree.h"

namespace muster::launcher {

// Ends processes that ranks have left behind: SIGTERM, for an uploader may have something to
// finish, and SIGKILL after the grace. Gives up, and says so, where a process may not be signalled
// or does not end. Does not wait: call Step() until it has finished.
class Cleanup {
 public:
  using Pick = std::function<Leftovers()>;
  using Say = std::function<void(const std::string&)>;

  // `pick` returns those that are to end and have not. One that stays undecided is waited for, for
  // some seconds, and then left running. `now` is of a steady clock, here and below.
  Cleanup(Pick pick, Say say, absl::Duration grace, absl::Time now);

  // Signals what has to be signalled. True once nothing is left that it could end.
  bool Step(absl::Time now);

  // The rest of the grace is not given.
  void Hurry() {
    if (!killing_) deadline_ = absl::InfinitePast();
  }

 private:
  // Of those that are undecided, whether one may yet be decided.
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

#endif  // MUSTER_CLIENT_LAUNCHER_CLEANUP_H_
