#ifndef MUSTER_CLIENT_SRC_JOB_SHARE_OR_FAIL_H_
#define MUSTER_CLIENT_SRC_JOB_SHARE_OR_FAIL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/call_options.h"
#include "muster/group.h"

namespace muster::internal {

// For waits that last as long as a rank lives: they end by its arrival, or by its loss. Longer than
// any process lives, and no infinity: the coordinator takes none.
inline constexpr absl::Duration kWhileTheRootLives = absl::Hours(10 * 365 * 24);

// `outcome`, with that name before an error. In a group of one, and for a process that is on its
// own, as it is.
absl::StatusOr<std::string> Named(const Group& group, int index,
                                  absl::StatusOr<std::string> outcome);

// ShareOutcome() (muster/job.h) of an outcome that has its name already.
absl::StatusOr<std::string> ShareNamed(const Group& group, int root,
                                       const absl::StatusOr<std::string>& outcome,
                                       absl::string_view call, const CallOptions& options,
                                       CallSite site);

// What the members of a group have packed (client/src/base/outcome.h), in the group's order; the
// first error among it, with its member's name, if there is one.
absl::StatusOr<std::vector<std::string>> UnpackAll(const Group& group,
                                                   const std::vector<std::string>& packed);

// Shares an outcome with the group, as a collective of it: returns what every rank has contributed,
// in the group's order, if all have something; else, on every rank, the error of the first that has
// none, with its name. So a rank on which a step fails takes part all the same, and nobody waits
// for it in vain. `call` names the program's call, "GetConfigsParallel", and must agree.
absl::StatusOr<std::vector<std::string>> ShareOrFail(const Group& group,
                                                     const absl::StatusOr<std::string>& mine,
                                                     absl::string_view call,
                                                     const CallOptions& options,
                                                     CallSite site = CallSite::Here());

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_SHARE_OR_FAIL_H_
