#ifndef MUSTER_CLIENT_SRC_BASE_OUTCOME_H_
#define MUSTER_CLIENT_SRC_BASE_OUTCOME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::internal {

// Encodes an outcome of work as bytes: the status code, then the value or the message.
std::string PackOutcome(const absl::StatusOr<std::string>& outcome);

// Decodes the outcome. Returns INVALID_ARGUMENT if `bytes` are malformed.
absl::StatusOr<std::string> UnpackOutcome(absl::string_view bytes);

// Encodes a status with its note (error_note.h), for a process of the same program. Other processes
// may run another version of the SDK, and get PackOutcome().
std::string PackStatus(const absl::Status& status);

// Decodes the status. Returns INVALID_ARGUMENT if `bytes` are malformed.
absl::Status UnpackStatus(absl::string_view bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_OUTCOME_H_
