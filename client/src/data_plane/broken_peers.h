#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/group.h"

// The errors that data planes return when a connection breaks.
namespace muster::internal {

// Returns the error of a call whose connection to `peer` broke. If the peer died, the job's own
// error names it, so this waits for that error as Group::AwaitLoss() does. If none comes, returns
// UNAVAILABLE with `why`. `options` hold the rest of the call's time-out, which this may exceed by
// some seconds.
absl::Status ExplainBrokenConnection(const Group& group, int peer, absl::string_view operation,
                                     absl::string_view why, const CallOptions& options);

// Does the same if it is unknown which peer's connection broke. If the job has no error, returns
// `why` with a remark.
absl::Status ExplainBrokenPeer(const Group& group, const absl::Status& why,
                               const CallOptions& options = {});

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_BROKEN_PEERS_H_
