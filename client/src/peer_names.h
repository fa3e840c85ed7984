#ifndef MUSTER_CLIENT_SRC_PEER_NAMES_H_
#define MUSTER_CLIENT_SRC_PEER_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/call_options.h"
#include "muster/group.h"

// How data planes name ranks in their errors.
namespace muster::internal {

// "rank 3 (node a, pid 77)"; where the group numbers it differently from the job, "rank 1 (rank 3
// of the job, node a, pid 77)".
std::string DescribePeer(const Group& group, int index);

// The first few, as above, and how many more: "rank 3 (node a, pid 77), ranks 4-6".
std::string DescribePeers(const Group& group, const std::vector<int>& indices);

// "rank 2" or "ranks 0-2,5". Ascending.
std::string RankList(const std::vector<int>& indices);

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

#endif  // MUSTER_CLIENT_SRC_PEER_NAMES_H_
