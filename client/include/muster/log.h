#ifndef MUSTER_LOG_H_
#define MUSTER_LOG_H_

#include "muster/cxx17.h"

#include <functional>

#include "absl/strings/string_view.h"

// The SDK's log, for programs that have a log of their own:
//
//   muster::SetLogSink([](muster::LogLevel level, absl::string_view line) {
//     if (level >= muster::LogLevel::kInfo) MyLog(line);
//   });
namespace muster {

// The severity of a line.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Receives a line of the SDK's log, without its line end. The SDK calls it from any thread, for one
// line at a time. It must not call the SDK. While it blocks, lines about the coordinator queue up
// and delay no call; of those that find no room, the number is logged. Lines of data planes and
// helpers wait in the thread that makes the call.
using LogSink = std::function<void(LogLevel level, absl::string_view line)>;

// Sends the log of the whole process to `sink`, which gets every line. nullptr restores the
// default: standard error, for lines of level MUSTER_LOG_LEVEL and above (debug, info, warning or
// error; the default is warning). Thread-safe.
void SetLogSink(LogSink sink);

// Logs one line as the SDK does. For data planes and helpers.
void Log(LogLevel level, absl::string_view line);

}  // namespace muster

#endif  // MUSTER_LOG_H_
