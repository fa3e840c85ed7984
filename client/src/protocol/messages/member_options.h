#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_OPTIONS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_OPTIONS_H_

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "client/src/base/backoff.h"
#include "client/src/environment/identity.h"
#include "client/src/environment/process_fingerprint.h"

namespace muster::internal {

// A member's identity, and the address of its coordinator.
struct MemberOptions {
  std::string coordinator;  // as the user wrote it, for messages
  std::string job_id;
  Identity identity;
  ProcessFingerprint fingerprint;
  // How long a call retries while the coordinator does not answer.
  absl::Duration coordinator_timeout;
  // How much later than a call's time-out its answer may arrive. At the time-out the coordinator
  // answers, since it knows what was missing; the core gives up only after this slack.
  absl::Duration slack = absl::Seconds(5);
  // Enables node fan-in.
  bool node_fanin = true;
  // Lets a rank complete a collective for all ranks of its node, and tell the coordinator later.
  bool node_commits = false;
  bool commits_on_node() const { return node_fanin && node_commits; }
  // Source of jitter.
  Random random;
  // Returns whether there is a connection to the coordinator now. For messages.
  std::function<bool()> connected;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_OPTIONS_H_
