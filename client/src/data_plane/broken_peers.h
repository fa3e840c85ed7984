#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/group.h"

// The errors that data planes return when a connection breaks.
namespace muster::internal {

// Waits, as Group::AwaitLoss() does, for the job's own error, which names a peer that has died, and
// returns it. Returns OK if none comes. `options` hold the rest of the call's time-out, which this
// may exceed by some seconds.
absl::Status AwaitReportedLoss(const Group& group, CallOptions options);

// Returns the error, UNAVAILABLE, of a call whose connection to `peer` broke, when the job has
// reported no loss. `why` is what was seen of that.
absl::Status BrokenConnection(const Group& group, int peer, absl::string_view operation,
                              absl::string_view why);

// Returns the error of a call whose connection to `peer` broke: the job's own, or else
// BrokenConnection(). Waits as AwaitReportedLoss() does.
absl::Status ExplainBrokenConnection(const Group& group, int peer, absl::string_view operation,
                                     absl::string_view why, const CallOptions& options);

// Does the same if it is unknown which peer's connection broke. If the job has no error, returns
// `why` with a remark.
absl::Status ExplainBrokenPeer(const Group& group, const absl::Status& why,
                               const CallOptions& options = {});

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_
