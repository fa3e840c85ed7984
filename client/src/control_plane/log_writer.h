#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_LOG_WRITER_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_LOG_WRITER_H_

#include <cstddef>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/protocol/messages/member_effects.h"

namespace muster::internal {

// Writes the log lines of one member by Log(), on a thread of its own and in order.
//
//   writer->Add(line);       // returns at once
//   writer->AwaitWritten();  // before the program gets an error that the lines explain
//
// Log() may block for ever: a terminal is held by Ctrl-S, a pipe has no reader, a LogSink waits.
// Then lines queue up. If the queue is full, the oldest lines are dropped, and the next line that
// is written follows a warning with their number. Thread-safe. Test:
// tests/client/control_plane/log_writer_test.cc.
class LogWriter {
 public:
  struct Limits {
    size_t lines = 256;                          // that wait for the thread
    absl::Duration patience = absl::Seconds(1);  // from here on a line counts as blocked
  };

  // Starts the thread. Returns RESOURCE_EXHAUSTED if the process cannot get one.
  static absl::StatusOr<std::unique_ptr<LogWriter>> Start(const Limits& limits);
  static absl::StatusOr<std::unique_ptr<LogWriter>> Start() { return Start(Limits()); }
  // Waits like AwaitWritten(). If the log is blocked, leaves the queue to the thread, which ends
  // after the last line.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Queues the line. Never blocks.
  void Add(WriteLog line);

  // Blocks until all lines that were added are written or dropped, but not for longer than
  // Limits::patience. Returns at once if the log has been blocked for that long.
  void AwaitWritten();

 private:
  class Queue;

  LogWriter(std::shared_ptr<Queue> queue, std::thread thread);

  const std::shared_ptr<Queue> queue_;  // the thread shares it, and may outlive this object
  std::thread thread_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_LOG_WRITER_H_
