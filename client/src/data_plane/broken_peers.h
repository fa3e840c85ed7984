#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/group.h"

// What data planes say where a connection broke.
namespace muster::internal {

// The error of a data-plane call whose connection to a peer broke. A peer that died is named by the
// job's own error, so this waits for that as Group::AwaitLoss() does; where none comes, UNAVAILABLE
// with `why`. `options` are what is left of the call's; a little longer than its time-out this may
// take all the same.
absl::Status ExplainBrokenConnection(const Group& group, int peer, absl::string_view operation,
                                     absl::string_view why, const CallOptions& options);

// The same where it is not known whose connection broke: the job's error, or `why` with a remark.
absl::Status ExplainBrokenPeer(const Group& group, const absl::Status& why,
                               const CallOptions& options = {});

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_
