#ifndef MUSTER_SERVER_SERVICE_LOG_QUEUE_H_
#define MUSTER_SERVER_SERVICE_LOG_QUEUE_H_

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "server/core/types.h"
#include "spdlog/logger.h"

namespace muster::service {

// Writes log lines in the order they were queued, though many threads flush: a log must not show an
// epoch formed before its last member joined. Whoever flushes is held up by the logger: the
// daemon's hands lines to a thread of its own. Thread-safe.
class LogQueue {
 public:
  explicit LogQueue(std::shared_ptr<spdlog::logger> logger);

  // Does no I/O, so it may be called under a lock.
  void Push(std::vector<core::LogLine> lines);
  // Writes what is queued, unless another thread is at it: then that one writes these lines too.
  void Flush();

 private:
  std::deque<core::LogLine> Take();

  const std::shared_ptr<spdlog::logger> logger_;
  std::mutex mutex_;
  std::deque<core::LogLine> lines_;
  bool flushing_ = false;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_LOG_QUEUE_H_
