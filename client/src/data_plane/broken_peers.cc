#include "client/src/data_plane/broken_peers.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/src/base/error_note.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

// The least time to wait, even if the call's time-out is near: an error that names the dead process
// is worth it.
constexpr absl::Duration kMinWait = absl::Seconds(5);

}  // namespace

absl::Status AwaitReportedLoss(const Group& group, CallOptions options) {
  options.timeout = std::max(options.timeout.value_or(group.default_timeout()), kMinWait);
  return group.AwaitLoss(options);
}

absl::Status BrokenConnection(const Group& group, int peer, absl::string_view operation,
                              absl::string_view why) {
  const std::string text =
      absl::StrCat(operation, ": the connection to ", DescribePeer(group, peer), " broke: ", why,
                   "; the process is not known to be lost");
  return WithMember(group, peer, absl::UnavailableError(text));
}

absl::Status ExplainBrokenConnection(const Group& group, int peer, absl::string_view operation,
                                     absl::string_view why, const CallOptions& options) {
  const absl::Status lost = AwaitReportedLoss(group, options);
  return lost.ok() ? BrokenConnection(group, peer, operation, why) : lost;
}

absl::Status ExplainBrokenPeer(const Group& group, const absl::Status& why,
                               const CallOptions& options) {
  const absl::Status lost = AwaitReportedLoss(group, options);
  if (!lost.ok()) return lost;
  return Reworded(why, absl::StrCat(why.message(), "; no process of the job is known to be lost"));
}

}  // namespace muster::internal
