#ifndef MUSTER_CLIENT_SRC_BASE_DEADLINE_H_
#define MUSTER_CLIENT_SRC_BASE_DEADLINE_H_

#include <algorithm>

#include "absl/functional/function_ref.h"
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

  // For a call that is a part of this one. What has taken less than a millisecond is not counted,
  // so that a part which begins with the call has its time-out, and names it in errors.
  CallOptions Remaining() const { return CallOptions{LeftForPart(), cancellation_}; }
  absl::Duration LeftForPart() const { return absl::Ceil(Left(), absl::Milliseconds(1)); }

  // Runs a part of this call that may take `left`, and returns its status. Where the time of the
  // part runs out its text can name only `left`, so this adds the time-out of the call.
  absl::Status RunPart(absl::FunctionRef<absl::Status(absl::Duration left)> part) const;
  // The same for a part that has returned `part`.
  absl::Status NameWhole(const absl::Status& part, absl::Duration left) const;

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
