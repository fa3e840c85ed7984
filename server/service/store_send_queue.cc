#include "server/service/store_send_queue.h"

#include <utility>

#include "server/service/conversion/store_response_conversion.h"

namespace muster::service {

void StoreSendQueue::Append(Item item) {
  waiting_bytes_ += item.bytes;
  items_.push_back(std::move(item));
}

void StoreSendQueue::Push(core::StoreResponse message) {
  const uint64_t bytes = SizeOf(message);
  std::lock_guard<std::mutex> lock(mutex_);
  if (ended_ || overflow_ != Overflow::kNo) return;
  if (waiting_bytes_ + bytes > max_bytes_) {
    overflow_ = Overflow::kNew;
    items_.clear();
    waiting_bytes_ = writing_bytes_;
    return;
  }
  Append({Item::Kind::kMessage, std::move(message), {}, bytes});
}

void StoreSendQueue::PushProbe() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!ended_) Append({Item::Kind::kProbe, core::StoreClients(), {}, 0});
}

void StoreSendQueue::PushEnd(absl::Status end) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(ended_, true)) return;
  Append({Item::Kind::kEnd, core::StoreClients(), std::move(end), 0});
}

bool StoreSendQueue::TakeOverflow() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (overflow_ != Overflow::kNew) return false;
  overflow_ = Overflow::kKnown;
  return true;
}

std::optional<StoreSendQueue::Item> StoreSendQueue::Next() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (writing_ || items_.empty()) return std::nullopt;
  writing_ = true;
  Item next = std::move(items_.front());
  items_.pop_front();
  writing_bytes_ = next.bytes;
  writing_kind_ = next.kind;
  return next;
}

StoreSendQueue::Item::Kind StoreSendQueue::Written() {
  std::lock_guard<std::mutex> lock(mutex_);
  writing_ = false;
  waiting_bytes_ -= std::exchange(writing_bytes_, 0);
  return writing_kind_;
}

bool StoreSendQueue::MayRead() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (ended_) return false;
  paused_ = !HasRoom();
  return !paused_;
}

bool StoreSendQueue::TakeResumed() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!paused_ || ended_ || !HasRoom()) return false;
  paused_ = false;
  return true;
}

}  // namespace muster::service
