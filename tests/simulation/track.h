#ifndef MUSTER_TESTS_SIMULATION_TRACK_H_
#define MUSTER_TESTS_SIMULATION_TRACK_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "tests/simulation/actor.h"

namespace muster::simulation {

// The place of a process in an epoch.
struct Place {
  internal::EpochId epoch;
  int rank = 0;
  int world_size = 0;
};

// One thread of a program in one epoch. It makes its calls one after another until it has made all,
// or the epoch is over.
class Track {
 public:
  // Called with OK at the end, or with the error that ended the epoch for this process.
  using OnEnd = std::function<void(const absl::Status&)>;
  Track(Actor* actor, const Place& place, OnEnd on_end)
      : actor_(actor), place_(place), on_end_(std::move(on_end)) {}
  virtual ~Track() = default;

  virtual void Start() = 0;

 protected:
  void End(const absl::Status& status) { on_end_(status); }

  // Returns whether the error ends the epoch. Any call may fail with such an error. If false, the
  // program must check the error itself.
  bool EndsEpoch(const absl::Status& status) const {
    return absl::IsAborted(status) || absl::IsUnavailable(status);
  }
  // Returns whether the program may retry a call: it timed out or was cancelled. Reports a
  // violation if the long time-out has passed, since then the call was forgotten.
  bool MayRepeat(const std::string& call, absl::Duration timeout, const absl::Status& status) {
    if (absl::IsDeadlineExceeded(status) && timeout == kLongTimeout && !actor_->hostile()) {
      if (actor_->setting->hostile) return false;  // who has been refused does not come again
      actor_->stage->Violation("process ", actor_->process->id(), ": ", call,
                               " has waited in vain: ", status.ToString());
      return false;
    }
    return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
  }
  void Unexpected(const std::string& call, const absl::Status& status) {
    if (actor_->hostile()) return;
    if (actor_->setting->hostile && absl::IsDeadlineExceeded(status)) return;
    actor_->stage->Violation("process ", actor_->process->id(), ": ", call,
                             " must not end like this: ", status.ToString());
  }

  Actor* const actor_;
  const Place place_;

 private:
  const OnEnd on_end_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_TRACK_H_
