#ifndef MUSTER_SERVER_DAEMON_DESCRIPTORS_H_
#define MUSTER_SERVER_DAEMON_DESCRIPTORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/core/api/options.h"

namespace muster::daemon {

// Fits the number of members to the limit on open files. Each member and each launcher has a
// connection, and each connection has a file descriptor. Raises the process's soft limit to the
// hard limit. Then lowers `options->limits.max_members` to the descriptors that are left after
// `for_pages`: to half of them, or to the size of the world if that is known and larger. So the
// daemon refuses a member too many with an error that says why. Returns INVALID_ARGUMENT if the
// world does not fit.
absl::Status FitMembersToDescriptors(uint64_t for_pages, core::Options* options);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_DESCRIPTORS_H_
