#ifndef MUSTER_SERVER_SERVICE_STORE_SEND_QUEUE_H_
#define MUSTER_SERVER_SERVICE_STORE_SEND_QUEUE_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "server/core/api/store_messages.h"

namespace muster::service {

// A queue of the messages to send on one stream of the store, which writes one message at a time.
// It also decides when the stream may read on. A client's own requests make most of its messages,
// so the daemon reads no request while the client leaves too much unread. The rest is what other
// clients cause: if it exceeds `max_bytes`, only the end of the stream stays queued. Thread-safe.
class StoreSendQueue {
 public:
  // Beyond this much unsent, the stream reads no request.
  static constexpr uint64_t kReadsUpTo = 32 << 20;
  static constexpr uint64_t kReadsUpToMessages = 1024;

  // The next thing to write.
  struct Item {
    enum class Kind {
      kMessage,
      kProbe,  // a message without content, which shows whether the peer is still there
      kEnd,    // nothing follows it
    };
    Kind kind = Kind::kMessage;
    core::StoreResponse message;
    absl::Status end;
    uint64_t bytes = 0;
  };

  explicit StoreSendQueue(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Queues a message. If there is no room for it, drops it, all waiting messages and all later
  // ones.
  void Push(core::StoreResponse message);
  // Queues a probe, unless the end is queued.
  void PushProbe();
  void PushEnd(absl::Status end);

  // Returns true once after messages were dropped. The caller must then end the stream.
  bool TakeOverflow();
  // Returns the next item. Returns nullopt if there is none, or if the previous item is still being
  // written. After the end, nothing follows.
  std::optional<Item> Next();
  // Notes that the item that Next() returned last has been written. Returns its kind.
  Item::Kind Written();

  // Returns whether the stream may read its next request. After false, TakeResumed() tells when.
  bool MayRead();
  // Returns true once when a stream that must not read may read again.
  bool TakeResumed();

 private:
  enum class Overflow { kNo, kNew, kKnown };

  bool HasRoom() const {
    return waiting_bytes_ <= kReadsUpTo && items_.size() <= kReadsUpToMessages;
  }
  void Append(Item item);

  const uint64_t max_bytes_;
  std::mutex mutex_;  // guards the members below
  std::deque<Item> items_;
  uint64_t waiting_bytes_ = 0;  // of `items_` and the item that is being written
  uint64_t writing_bytes_ = 0;
  Item::Kind writing_kind_ = Item::Kind::kMessage;
  bool writing_ = false;
  bool ended_ = false;
  bool paused_ = false;  // the stream reads no request
  Overflow overflow_ = Overflow::kNo;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_STORE_SEND_QUEUE_H_
