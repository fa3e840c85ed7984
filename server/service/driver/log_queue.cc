#include "server/service/driver/log_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace muster::service {
namespace {

spdlog::level::level_enum Level(core::Severity severity) {
  switch (severity) {
    case core::Severity::kDebug:
      return spdlog::level::debug;
    case core::Severity::kInfo:
      return spdlog::level::info;
    case core::Severity::kWarning:
      return spdlog::level::warn;
    case core::Severity::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Returns the level of the line. An error that a launcher also prints (`logged_by_launcher`) is
// logged as info. `muster run` shows its coordinator's log from warnings up, so it does not print
// the error twice.
spdlog::level::level_enum LevelOf(const core::LogLine& line) {
  const spdlog::level::level_enum level = Level(line.severity);
  return line.logged_by_launcher ? std::min(level, spdlog::level::info) : level;
}

}  // namespace

LogQueue::LogQueue(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

void LogQueue::Push(std::vector<core::LogLine> lines) {
  if (lines.empty()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  lines_.insert(lines_.end(), std::make_move_iterator(lines.begin()),
                std::make_move_iterator(lines.end()));
}

void LogQueue::Flush() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (flushing_ || lines_.empty()) return;
    flushing_ = true;
  }
  for (std::deque<core::LogLine> lines = Take(); !lines.empty(); lines = Take()) {
    for (const core::LogLine& line : lines) logger_->log(LevelOf(line), line.text);
  }
}

std::deque<core::LogLine> LogQueue::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (lines_.empty()) flushing_ = false;
  return std::exchange(lines_, {});
}

}  // namespace muster::service
