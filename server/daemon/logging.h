#ifndef MUSTER_SERVER_DAEMON_LOGGING_H_
#define MUSTER_SERVER_DAEMON_LOGGING_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::daemon {

struct LogOptions {
  std::string level = "info";   // debug, info, warning, error, off
  std::string format = "text";  // text, json
};

// Returns INVALID_ARGUMENT with the name of the flag if a value is unknown.
absl::Status Validate(const LogOptions& options);

// Makes spdlog's default logger write to standard error. gRPC's messages go there too, at level
// debug, because the daemon logs what matters in its own words. Threads that log never wait for
// standard error. `options` must be valid. Call it once, before any other thread starts.
void SetUpLogging(const LogOptions& options);

// Blocks until the lines logged so far are written, for at most `limit`.
void FlushLog(absl::Duration limit);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_LOGGING_H_
