#include "muster/log.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace muster {
namespace {

struct Output {
  absl::Mutex mutex;
  LogSink sink ABSL_GUARDED_BY(mutex);
};

// Never destroyed, because threads may log while the process ends.
Output& TheOutput() {
  static Output& output = *new Output;
  return output;
}

constexpr const char* kNames[] = {"debug", "info", "warning", "error"};

const char* Name(LogLevel level) { return kNames[static_cast<int>(level)]; }

void WriteToStderr(LogLevel level, absl::string_view line) {
  const std::string time =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  const std::string text = absl::StrCat(time, " muster ", Name(level), ": ", line, "\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

LogLevel LevelFromEnvironment() {
  const char* value = std::getenv("MUSTER_LOG_LEVEL");
  if (value == nullptr) return LogLevel::kWarning;
  for (int i = 0; i < 4; ++i) {
    if (absl::string_view(value) == kNames[i]) return static_cast<LogLevel>(i);
  }
  WriteToStderr(LogLevel::kWarning,
                absl::StrCat("MUSTER_LOG_LEVEL is '", value,
                             "'; expected debug, info, warning or error; using warning"));
  return LogLevel::kWarning;
}

}  // namespace

void SetLogSink(LogSink sink) {
  Output& output = TheOutput();
  absl::MutexLock lock(&output.mutex);
  output.sink = std::move(sink);
}

void Log(LogLevel level, absl::string_view line) {
  static const LogLevel threshold = LevelFromEnvironment();
  Output& output = TheOutput();
  // Called under the lock, so a sink gets one line at a time, and no line after it was replaced.
  absl::MutexLock lock(&output.mutex);
  if (output.sink) {
    output.sink(level, line);
  } else if (level >= threshold) {
    WriteToStderr(level, line);
  }
}

}  // namespace muster
