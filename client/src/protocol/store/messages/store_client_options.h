#ifndef MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_CLIENT_OPTIONS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_CLIENT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/src/base/backoff.h"
#include "client/src/environment/identity.h"

namespace muster::internal {

struct StoreClientOptions {
  std::string coordinator;  // as the user wrote it, for messages
  std::string job_id;
  Identity identity;             // the member's
  std::optional<uint32_t> rank;  // for messages of the daemon
  bool launcher = false;         // for messages of the daemon: the client is the node's launcher
  // How long an operation waits for a coordinator that cannot be reached.
  absl::Duration coordinator_timeout;
  // How much later than an operation's time-out the daemon's answer may arrive, which says what was
  // missing. After that, the client asks the daemon to give the operation up.
  absl::Duration slack = absl::Seconds(5);
  // Source of jitter.
  Random random;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_STORE_MESSAGES_STORE_CLIENT_OPTIONS_H_
