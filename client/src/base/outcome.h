#ifndef MUSTER_CLIENT_SRC_BASE_OUTCOME_H_
#define MUSTER_CLIENT_SRC_BASE_OUTCOME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::internal {

// Encodes an outcome of work as bytes: the status code, then the value or the message.
std::string PackOutcome(const absl::StatusOr<std::string>& outcome);

// Decodes the outcome. Returns INVALID_ARGUMENT if `bytes` are malformed.
absl::StatusOr<std::string> UnpackOutcome(absl::string_view bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_OUTCOME_H_
