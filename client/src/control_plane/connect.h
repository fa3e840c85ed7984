#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_CONNECT_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_CONNECT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/src/control_plane/control_plane.h"
#include "muster/call_options.h"
#include "muster/job_options.h"

namespace muster::internal {

// Joins the job at options.coordinator. Without a coordinator, returns a job of one process (serial
// mode). `options` must be valid. Blocks and fails as Job::Join() does.
absl::StatusOr<std::shared_ptr<ControlPlane>> Connect(const JobOptions& options,
                                                      Cancellation* cancellation);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_CONNECT_H_
