#ifndef MUSTER_SERVER_DAEMON_DESCRIPTORS_H_
#define MUSTER_SERVER_DAEMON_DESCRIPTORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/core/options.h"

namespace muster::daemon {

// Each member is a connection, and each connection a file descriptor; and so is each launcher.
// Raises this process's limit as far as it may, and lowers `options->limits.max_members` to what
// the limit leaves room for, beside what `for_pages` may be read by, so that a member too many is
// refused in words: half of the descriptors, unless the size of the job's world is known.
// INVALID_ARGUMENT if the job's world does not fit.
absl::Status FitMembersToDescriptors(uint64_t for_pages, core::Options* options);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_DESCRIPTORS_H_
