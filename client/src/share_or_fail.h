#ifndef MUSTER_CLIENT_SRC_SHARE_OR_FAIL_H_
#define MUSTER_CLIENT_SRC_SHARE_OR_FAIL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// No time-out, for waits that are certain to end: by a rank's arrival, or by its loss.
inline constexpr absl::Duration kWhileTheRootLives = absl::Hours(10 * 365 * 24);

// "rank 3 (node 'a', pid 17)", of the member at an index of the group.
std::string NameOfMember(const Group& group, int index);

// `error` with that name before it.
absl::Status WithNameOf(const Group& group, int index, const absl::Status& error);

// Shares an outcome with the group, as a collective of it: returns what every rank has contributed,
// in the group's order, if all have something; else, on every rank, the error of the first that has
// none, with its name. So a rank on which a step fails takes part all the same, and nobody waits
// for it in vain. `step` names the step and must agree.
absl::StatusOr<std::vector<std::string>> ShareOrFail(const Group& group,
                                                     const absl::StatusOr<std::string>& mine,
                                                     absl::string_view step,
                                                     const CallOptions& options,
                                                     CallSite site = CallSite::Here());

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_SHARE_OR_FAIL_H_
