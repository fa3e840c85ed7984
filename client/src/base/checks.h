#ifndef MUSTER_CLIENT_SRC_BASE_CHECKS_H_
#define MUSTER_CLIENT_SRC_BASE_CHECKS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

// Checks of arguments before anything is sent. Each returns OK, or INVALID_ARGUMENT with what is
// wrong. `what` names the argument: "label", "lease name".
namespace muster::internal {

// The daemon's default for --max-name-bytes, used before a daemon has announced its own.
inline constexpr size_t kDefaultMaxNameBytes = 256;

// The daemon's limit for CollectiveContext.call_site: a path and a line.
inline constexpr size_t kMaxCallSiteBytes = 1024;

// Checks that `name` is UTF-8 text of at most `max_bytes`, without control characters.
absl::Status CheckText(absl::string_view what, absl::string_view name, size_t max_bytes);

// Checks the same, and that `name` is not empty.
absl::Status CheckName(absl::string_view what, absl::string_view name, size_t max_bytes);

// Checks that `timeout` is finite and not negative.
absl::Status CheckTimeout(absl::string_view what, absl::Duration timeout);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_CHECKS_H_
