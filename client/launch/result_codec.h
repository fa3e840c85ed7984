#ifndef MUSTER_CLIENT_LAUNCH_RESULT_CODEC_H_
#define MUSTER_CLIENT_LAUNCH_RESULT_CODEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/launch.h"

namespace muster::internal {

// Converts between the supervisor's result and the bytes that it sends to the program.
// UnpackResult() returns INVALID_ARGUMENT if the bytes are incomplete, because the supervisor was
// killed.
std::string PackResult(const absl::StatusOr<LaunchResult>& result);
absl::StatusOr<LaunchResult> UnpackResult(absl::string_view bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_RESULT_CODEC_H_
