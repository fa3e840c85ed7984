#include "client/src/control_plane.h"

#include "absl/strings/str_cat.h"

namespace muster::internal {

absl::Status ControlPlane::CheckProcess() const {
  if (getpid() == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("process ", getpid(), " is a fork of process ", process_, ", which joined job '",
                   job_id(), "'; a Job works only in the process that joined: join after fork()"));
}

absl::Status HeldResult(const std::string& lease) {
  return absl::FailedPreconditionError(
      absl::StrCat("lease '", lease,
                   "' is held by this process, which has to do the work: there is no result yet"));
}

absl::Status LeftError(const std::string& job_id, int rank) {
  return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " has left job '", job_id,
                                                    "': no calls are possible after Leave()"));
}

}  // namespace muster::internal
