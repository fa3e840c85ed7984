#ifndef MUSTER_CLIENT_LAUNCHER_BINDING_RANK_BINDING_H_
#define MUSTER_CLIENT_LAUNCHER_BINDING_RANK_BINDING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/launcher/binding/core_claims.h"
#include "client/launcher/plan/job_plan.h"

namespace muster::launcher {

// Decides which CPUs the ranks of this node are bound to, and writes them into the plan. Does
// nothing if the plan binds no ranks. Returns the claims of their cores, which the caller keeps
// until the ranks have ended; null if there are none to keep. An error is a text for the user; it
// is INVALID_ARGUMENT if the node has fewer cores than ranks. The calling process must have one
// thread.
//
// A launcher that is itself a rank with CPUs of its own makes no claims, since the launcher above
// it has claimed the cores.
absl::StatusOr<std::unique_ptr<CoreClaims>> BindRanks(JobPlan* plan);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_BINDING_RANK_BINDING_H_
