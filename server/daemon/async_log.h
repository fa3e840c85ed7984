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

// A log whose callers never wait for it. Lines go through a bounded queue to a thread of its own,
// which writes them to a file descriptor, however long that takes: a terminal that is held by
// Ctrl-S, a pipe that nobody reads, a volume that hangs. When the queue is full its oldest lines
// are dropped. Those, and lines that could not be written, are counted, and the next line that can
// be written is preceded by one that says how many they are.
class AsyncLog {
 public:
  // `most_lines`: that wait. `fd` stays the caller's.
  AsyncLog(int fd, size_t most_lines, std::unique_ptr<spdlog::formatter> formatter);
  // Waits until all is written. A process that must end without that leaves the object alone.
  ~AsyncLog();

  const std::shared_ptr<spdlog::logger>& logger() const { return logger_; }

  // Waits until what has been logged is written, at most so long. Returns whether it is. From one
  // thread at a time.
  bool Flush(absl::Duration limit);

 private:
  class Sink;

  std::shared_ptr<spdlog::details::thread_pool> thread_;
  std::shared_ptr<Sink> sink_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_ASYNC_LOG_H_
