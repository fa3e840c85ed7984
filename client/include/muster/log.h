#ifndef MUSTER_LOG_H_
#define MUSTER_LOG_H_

#include "muster/cxx17.h"

#include <functional>

#include "absl/strings/string_view.h"

namespace muster {

// How much a line matters.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Receives the SDK's log lines, without a line end. Called from any thread, one line at a time; it
// must not call the SDK.
using LogSink = std::function<void(LogLevel level, absl::string_view line)>;

// Sends the log lines of the whole process to `sink` instead of standard error; nullptr restores
// standard error. Thread-safe. The default shows MUSTER_LOG_LEVEL (debug, info, warning, error;
// default warning) and above; a sink gets every line.
void SetLogSink(LogSink sink);

// Logs one line as the SDK does. For backends and helpers.
void Log(LogLevel level, absl::string_view line);

}  // namespace muster

#endif  // MUSTER_LOG_H_
