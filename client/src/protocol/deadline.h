#ifndef MUSTER_CLIENT_SRC_PROTOCOL_DEADLINE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_DEADLINE_H_

#include "absl/time/time.h"
#include "client/src/steady_clock.h"

namespace muster::internal {

// How long a call of a MemberCore may wait, which has no clock of its own.
struct Deadline {
  Deadline(SteadyTime now, absl::Duration how_long)
      : timeout(how_long), when(After(now, how_long)) {}

  absl::Duration timeout;  // for messages
  SteadyTime when;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_DEADLINE_H_
