#ifndef MUSTER_CLIENT_SRC_BASE_DEADLINE_H_
#define MUSTER_CLIENT_SRC_BASE_DEADLINE_H_

#include <algorithm>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/base/steady_clock.h"
#include "muster/call_options.h"

namespace muster::internal {

// How long one call may wait: until a point in time, or until it is cancelled.
class Deadline {
 public:
  // `timeout` from now on.
  Deadline(absl::Duration timeout, Cancellation* cancellation)
      : Deadline(SteadyClock::now(), timeout, cancellation) {}

  // `timeout` from `now` on, for what has no clock of its own.
  Deadline(SteadyTime now, absl::Duration timeout, Cancellation* cancellation = nullptr)
      : timeout_(timeout), when_(After(now, timeout)), cancellation_(cancellation) {}

  // The same, but ending earlier by `reserve`.
  Deadline Without(absl::Duration reserve) const {
    Deadline shorter = *this;
    shorter.timeout_ -= reserve;
    shorter.when_ -= absl::ToChronoNanoseconds(reserve);
    return shorter;
  }

  // OK, DEADLINE_EXCEEDED or CANCELLED, without a text.
  absl::Status Check() const {
    if (cancellation_ != nullptr && cancellation_->cancelled()) return absl::CancelledError("");
    if (SteadyClock::now() >= when_) return absl::DeadlineExceededError("");
    return absl::OkStatus();
  }

  absl::Duration Left() const {
    return std::max(Between(SteadyClock::now(), when_), absl::ZeroDuration());
  }

  // For a call that is a part of this one.
  CallOptions Remaining() const { return CallOptions{Left(), cancellation_}; }

  absl::Duration timeout() const { return timeout_; }  // for messages
  SteadyTime when() const { return when_; }
  Cancellation* cancellation() const { return cancellation_; }  // null: cannot be cancelled

 private:
  absl::Duration timeout_;
  SteadyTime when_;
  Cancellation* cancellation_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_DEADLINE_H_
