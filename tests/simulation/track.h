#ifndef MUSTER_TESTS_SIMULATION_TRACK_H_
#define MUSTER_TESTS_SIMULATION_TRACK_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/src/protocol/epoch_id.h"
#include "tests/simulation/actor.h"

namespace muster::simulation {

// A process's place in an epoch.
struct Place {
  internal::EpochId epoch;
  int rank = 0;
  int world_size = 0;
};

// One thread of a program in one epoch: makes its calls one after another until it is done, or the
// epoch is over.
class Track {
 public:
  // `on_end` is told OK, or the error that has ended the epoch for this process.
  using OnEnd = std::function<void(const absl::Status&)>;
  Track(Actor* actor, const Place& place, OnEnd on_end)
      : actor_(actor), place_(place), on_end_(std::move(on_end)) {}
  virtual ~Track() = default;

  virtual void Start() = 0;

 protected:
  void End(const absl::Status& status) { on_end_(status); }

  // What follows an error that every call may end with. False: the program must look itself.
  bool EndsEpoch(const absl::Status& status) const {
    return absl::IsAborted(status) || absl::IsUnavailable(status);
  }
  // A call ended by its time-out, or because it was cancelled, may be repeated. A long time-out
  // that has passed is a call that was forgotten.
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
