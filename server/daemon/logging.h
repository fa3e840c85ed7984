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

// INVALID_ARGUMENT names the flag whose value is unknown.
absl::Status Validate(const LogOptions& options);

// Sets spdlog's default logger up to write to standard error, and gRPC's own messages to go there
// too (at level debug: what matters of them is said in this daemon's words). Nobody who logs waits
// for standard error. `options` must be valid. Once, and before any other thread is started.
void SetUpLogging(const LogOptions& options);

// Waits until what has been logged is written, at most so long.
void FlushLog(absl::Duration limit);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_LOGGING_H_
