#ifndef MUSTER_CLIENT_SRC_PATIENCE_H_
#define MUSTER_CLIENT_SRC_PATIENCE_H_

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/src/steady_clock.h"
#include "muster/call_options.h"

namespace muster::internal {

// How long one call may wait: until its deadline, or until it is cancelled.
class Patience {
 public:
  Patience(absl::Duration timeout, Cancellation* cancellation)
      : timeout_(timeout),
        deadline_(After(SteadyClock::now(), timeout)),
        cancellation_(cancellation) {}

  // The same, but ending earlier by `reserve`.
  Patience Without(absl::Duration reserve) const {
    Patience shorter = *this;
    shorter.timeout_ -= reserve;
    shorter.deadline_ -= absl::ToChronoNanoseconds(reserve);
    return shorter;
  }

  // OK, DEADLINE_EXCEEDED or CANCELLED, without a text.
  absl::Status Check() const {
    if (cancellation_ != nullptr && cancellation_->cancelled()) return absl::CancelledError("");
    if (SteadyClock::now() >= deadline_) return absl::DeadlineExceededError("");
    return absl::OkStatus();
  }

  absl::Duration Left() const {
    return std::max(Between(SteadyClock::now(), deadline_), absl::ZeroDuration());
  }

  // For a call that is a part of this one.
  CallOptions Remaining() const { return CallOptions{Left(), cancellation_}; }

  absl::Duration timeout() const { return timeout_; }
  SteadyTime deadline() const { return deadline_; }

 private:
  absl::Duration timeout_;  // for messages
  SteadyTime deadline_;
  Cancellation* cancellation_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PATIENCE_H_
