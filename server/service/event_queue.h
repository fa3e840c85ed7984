#ifndef MUSTER_SERVER_SERVICE_EVENT_QUEUE_H_
#define MUSTER_SERVER_SERVICE_EVENT_QUEUE_H_

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "server/service/driver.h"

namespace muster::service {

// What waits to be sent on one Attach stream, which takes one item after the other. Bounded: of a
// member that does not read, nothing waits but the end of its stream. Thread-safe.
class EventQueue {
 public:
  // Far more than any member that reads has waiting.
  static constexpr size_t kMaxWaiting = 1024;

  // An event beyond the bound is dropped, with those that wait, and all that come after it; ends
  // are not.
  void Push(StreamItem item);

  // Whether events have been dropped; true once. The stream must be ended then.
  bool TakeOverflow();

  // The next item, unless there is none or the one before is still being written.
  std::optional<StreamItem> Next();
  // The last item that Next returned has been written.
  void Written();

 private:
  enum class Overflow { kNo, kNew, kKnown };

  std::mutex mutex_;  // guards all below
  std::deque<StreamItem> items_;
  bool writing_ = false;
  Overflow overflow_ = Overflow::kNo;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_EVENT_QUEUE_H_
