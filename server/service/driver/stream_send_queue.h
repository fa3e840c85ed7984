#ifndef MUSTER_SERVER_SERVICE_DRIVER_STREAM_SEND_QUEUE_H_
#define MUSTER_SERVER_SERVICE_DRIVER_STREAM_SEND_QUEUE_H_

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "server/service/driver/coordinator_driver.h"

namespace muster::service {

// A queue of the items to send on one Attach stream, which writes one item at a time. It is
// bounded: if a member does not read, only the end of its stream stays queued. Thread-safe.
class StreamSendQueue {
 public:
  // Far more events than a member that reads ever leaves waiting.
  static constexpr size_t kMaxWaiting = 1024;

  // Queues an item. If there is no room for an event, drops it, all waiting events, and all later
  // events. The end of the stream is always queued.
  void Push(StreamItem item);

  // Returns true once after events were dropped. The caller must then end the stream.
  bool TakeOverflow();

  // Returns the next item. Returns nullopt if there is none, or if the previous item is still being
  // written.
  std::optional<StreamItem> Next();
  // Notes that the item that Next() returned last has been written.
  void Written();

 private:
  enum class Overflow { kNo, kNew, kKnown };

  std::mutex mutex_;  // guards the members below
  std::deque<StreamItem> items_;
  bool writing_ = false;
  Overflow overflow_ = Overflow::kNo;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_DRIVER_STREAM_SEND_QUEUE_H_
