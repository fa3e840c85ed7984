#ifndef MUSTER_CLIENT_SRC_BASE_DEADLINE_H_
#define MUSTER_CLIENT_SRC_BASE_DEADLINE_H_

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/base/steady_clock.h"
#include "muster/call_options.h"

namespace muster::internal {

// The limit of one call's wait: a point in time, or its cancellation.
class Deadline {
 public:
  // Starts now and lasts for `timeout`.
  Deadline(absl::Duration timeout, Cancellation* cancellation)
      : Deadline(SteadyClock::now(), timeout, cancellation) {}

  // Starts at `now`, for callers without a clock of their own.
  Deadline(SteadyTime now, absl::Duration timeout, Cancellation* cancellation = nullptr)
      : timeout_(timeout), when_(After(now, timeout)), cancellation_(cancellation) {}

  // Returns a deadline that is earlier by `reserve`.
  Deadline Without(absl::Duration reserve) const {
    Deadline shorter = *this;
    shorter.timeout_ -= reserve;
    shorter.when_ -= absl::ToChronoNanoseconds(reserve);
    return shorter;
  }

  // Returns OK, DEADLINE_EXCEEDED or CANCELLED, without a text.
  absl::Status Check() const {
    if (cancellation_ != nullptr && cancellation_->cancelled()) return absl::CancelledError("");
    if (SteadyClock::now() >= when_) return absl::DeadlineExceededError("");
    return absl::OkStatus();
  }

  absl::Duration Left() const {
    return std::max(Between(SteadyClock::now(), when_), absl::ZeroDuration());
  }

  // Returns the options for a part of this call. Rounds the rest up to whole milliseconds, so that
  // a part that starts with the call has the call's time-out in its errors.
  CallOptions Remaining() const { return CallOptions{LeftForPart(), cancellation_}; }
  absl::Duration LeftForPart() const { return absl::Ceil(Left(), absl::Milliseconds(1)); }

  // Runs a part of this call with the time that is left, and returns its status. If that part times
  // out, its error only names `left`, so this adds the call's time-out.
  absl::Status RunPart(absl::FunctionRef<absl::Status(absl::Duration left)> part) const;
  // Adds the call's time-out to the error of a part that has ended with `part`.
  absl::Status NameWhole(const absl::Status& part, absl::Duration left) const;

  absl::Duration timeout() const { return timeout_; }  // for messages
  SteadyTime when() const { return when_; }
  // Null if the call cannot be cancelled.
  Cancellation* cancellation() const { return cancellation_; }

 private:
  absl::Duration timeout_;
  SteadyTime when_;
  Cancellation* cancellation_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_DEADLINE_H_
