#ifndef MUSTER_TESTS_UTIL_PROCESS_WAIT_UNTIL_H_
#define MUSTER_TESTS_UTIL_PROCESS_WAIT_UNTIL_H_

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace muster::testing {

// Polls `condition` every few milliseconds until it holds or the time is over. Returns whether it
// held in time. For state that sends no notification when it changes.
inline bool WaitUntil(absl::FunctionRef<bool()> condition,
                      absl::Duration timeout = absl::Minutes(1)) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_WAIT_UNTIL_H_
