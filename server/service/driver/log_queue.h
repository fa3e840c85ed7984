#ifndef MUSTER_SERVER_SERVICE_DRIVER_LOG_QUEUE_H_
#define MUSTER_SERVER_SERVICE_DRIVER_LOG_QUEUE_H_

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "server/core/api/types.h"
#include "spdlog/logger.h"

namespace muster::service {

// A queue that writes log lines in the order of the core's steps, although many threads flush it:
//   Thread A: pushes "rank 3 joined", and is descheduled before it flushes.
//   Thread B: pushes "epoch 1 formed", and flushes. It writes both lines, rank 3's first.
// Flushing threads wait for the logger; musterd's logger hands lines to its own thread.
// Thread-safe.
class LogQueue {
 public:
  explicit LogQueue(std::shared_ptr<spdlog::logger> logger);

  // Queues lines. Does no I/O, so it may be called under a lock.
  void Push(std::vector<core::LogLine> lines);
  // Writes the queued lines. If another thread is already in Flush(), that thread writes them, and
  // this call returns at once.
  void Flush();

 private:
  std::deque<core::LogLine> Take();

  const std::shared_ptr<spdlog::logger> logger_;
  std::mutex mutex_;
  std::deque<core::LogLine> lines_;
  bool flushing_ = false;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_DRIVER_LOG_QUEUE_H_
