#ifndef MUSTER_SERVER_DAEMON_ASYNC_LOG_H_
#define MUSTER_SERVER_DAEMON_ASYNC_LOG_H_

#include <cstddef>
#include <memory>

#include "absl/time/time.h"
#include "spdlog/formatter.h"
#include "spdlog/logger.h"

namespace spdlog::details {
class thread_pool;
}

namespace muster::daemon {

// A log whose callers never wait for it. Lines go through a bounded queue to the log's own thread.
// The thread writes them to a file descriptor, however long that takes: a terminal may be held by
// Ctrl-S, a pipe may have no reader, a volume may hang. If the queue is full, the oldest lines are
// dropped. Dropped lines, and lines that could not be written, are counted, and the next line that
// can be written follows a line with their number.
//
//   AsyncLog log(STDERR_FILENO, 4096, std::move(formatter));
//   log.logger()->info("serving");  // returns at once
//   log.Flush(absl::Seconds(1));
class AsyncLog {
 public:
  // Starts the thread. At most `max_lines` lines wait in the queue. `fd` must stay open while the
  // object lives; the caller closes it.
  AsyncLog(int fd, size_t max_lines, std::unique_ptr<spdlog::formatter> formatter);
  // Blocks until all lines are written. A process that must end sooner leaks the object.
  ~AsyncLog();

  const std::shared_ptr<spdlog::logger>& logger() const { return logger_; }

  // Blocks until the lines logged so far are written, for at most `limit`. Returns whether they
  // are. Call it from one thread at a time.
  bool Flush(absl::Duration limit);

 private:
  class Sink;

  std::shared_ptr<spdlog::details::thread_pool> thread_;
  std::shared_ptr<Sink> sink_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_ASYNC_LOG_H_
