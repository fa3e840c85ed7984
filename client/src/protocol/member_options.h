#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_OPTIONS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_OPTIONS_H_

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "client/src/base/backoff.h"
#include "client/src/environment/fingerprint.h"
#include "client/src/environment/identity.h"

namespace muster::internal {

// Who a member is, and where its coordinator is.
struct MemberOptions {
  std::string coordinator;  // as the user wrote it, for messages
  std::string job_id;
  Identity identity;
  Fingerprint fingerprint;
  // How long a call keeps trying while the coordinator does not answer.
  absl::Duration coordinator_timeout;
  // How much longer than a call's time-out its answer may take: at the time-out it is the
  // coordinator that answers, since it knows what was missing.
  absl::Duration slack = absl::Seconds(5);
  // Whether to arrive at collectives together with other members of the node.
  bool node_fanin = true;
  // For jitter.
  Random random;
  // Whether there is a connection to the coordinator now, for messages.
  std::function<bool()> connected;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_OPTIONS_H_
