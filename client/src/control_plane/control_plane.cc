#include "client/src/control_plane/control_plane.h"

#include "absl/strings/str_cat.h"
#include "client/src/base/checks.h"

namespace muster::internal {

absl::Status ControlPlane::CheckProcess() const {
  if (getpid() == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "process ", getpid(), " is a fork of process ", process_, ", which joined job '", job_id(),
      "'; a Job works only in the process that joined: fork before Join(), "
      "or start a new program with exec"));
}

absl::Status HeldResult(const std::string& lease) {
  return absl::FailedPreconditionError(
      absl::StrCat("lease '", lease,
                   "' is held by this process, which has to do the work: there is no result yet"));
}

absl::StatusOr<CallOptions> CheckCall(const ControlPlane& control, const CallOptions& options) {
  if (absl::Status status = control.CheckProcess(); !status.ok()) return status;
  CallOptions admitted = options;
  admitted.timeout = options.timeout.value_or(control.default_timeout());
  if (absl::Status status = CheckTimeout("CallOptions::timeout", *admitted.timeout); !status.ok()) {
    return status;
  }
  if (options.cancellation != nullptr && options.cancellation->cancelled()) {
    return absl::CancelledError("the call was cancelled before it began");
  }
  return admitted;
}

absl::Status CheckPayload(const ControlPlane& control, absl::string_view what, size_t bytes) {
  const size_t limit = control.max_payload_bytes();
  if (limit == 0 || bytes <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the ", what, " of rank ", control.rank(), " of job '", control.job_id(),
                   "' has ", bytes, " bytes; the coordinator takes at most ", limit,
                   " (musterd --max-payload-bytes); tensors go through a Communicator"));
}

}  // namespace muster::internal
