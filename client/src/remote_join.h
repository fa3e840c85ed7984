#ifndef MUSTER_CLIENT_SRC_REMOTE_JOIN_H_
#define MUSTER_CLIENT_SRC_REMOTE_JOIN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/src/control_plane.h"
#include "muster/call_options.h"
#include "muster/job_options.h"

namespace muster::internal {

// Joins the job at options.coordinator, which must be valid. Blocks and errors: as Job::Join().
absl::StatusOr<std::unique_ptr<ControlPlane>> JoinRemote(const JobOptions& options,
                                                         Cancellation* cancellation);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_REMOTE_JOIN_H_
