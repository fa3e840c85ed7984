#ifndef MUSTER_CLIENT_SRC_GROUP_SHARE_OR_FAIL_H_
#define MUSTER_CLIENT_SRC_GROUP_SHARE_OR_FAIL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// The time-out of waits that should last as long as a rank lives: they end with its arrival or its
// loss. It is finite, because the coordinator rejects infinite ones.
inline constexpr absl::Duration kRootLifetimeTimeout = absl::Hours(10 * 365 * 24);

// Puts the member's name before an error. Returns `outcome` unchanged in a group of one or inside a
// PreventBlock scope.
absl::StatusOr<std::string> WithMemberName(const Group& group, int index,
                                           absl::StatusOr<std::string> outcome);

// Unpacks a shared outcome, and notes the member whose name its error begins with.
absl::StatusOr<std::string> UnpackNamed(const Group& group, absl::string_view packed);

// Does the work of ShareOutcome() (muster/job.h) for an outcome whose error has its name already.
absl::StatusOr<std::string> ShareNamed(const Group& group, int root,
                                       const absl::StatusOr<std::string>& outcome,
                                       absl::string_view call, const CallOptions& options,
                                       CallSite site);

// Unpacks the outcomes of all members (client/src/base/outcome.h), in the group's order. Returns
// the first error, with its member's name, if there is one.
absl::StatusOr<std::vector<std::string>> UnpackAll(const Group& group,
                                                   const std::vector<std::string>& packed);

// Shares an outcome with the group, in a collective. Returns every rank's value, in the group's
// order, if all have one. Otherwise returns the first rank's error with its name, on all ranks. So
// a rank whose step has failed still takes part, and no other rank waits for it in vain. `call`
// names the program's call, such as "GetConfigsParallel", and must be the same on all ranks.
absl::StatusOr<std::vector<std::string>> ShareOrFail(const Group& group,
                                                     const absl::StatusOr<std::string>& mine,
                                                     absl::string_view call,
                                                     const CallOptions& options,
                                                     CallSite site = CallSite::Here());

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_GROUP_SHARE_OR_FAIL_H_
