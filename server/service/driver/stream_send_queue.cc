#include "server/service/driver/stream_send_queue.h"

#include <utility>

namespace muster::service {

void StreamSendQueue::Push(StreamItem item) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool ends = item.event == nullptr;
  if (!ends && overflow_ == Overflow::kNo && items_.size() >= kMaxWaiting) {
    overflow_ = Overflow::kNew;
    items_.clear();
  }
  if (ends || overflow_ == Overflow::kNo) items_.push_back(std::move(item));
}

bool StreamSendQueue::TakeOverflow() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (overflow_ != Overflow::kNew) return false;
  overflow_ = Overflow::kKnown;
  return true;
}

std::optional<StreamItem> StreamSendQueue::Next() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (writing_ || items_.empty()) return std::nullopt;
  writing_ = true;
  StreamItem next = std::move(items_.front());
  items_.pop_front();
  return next;
}

void StreamSendQueue::Written() {
  std::lock_guard<std::mutex> lock(mutex_);
  writing_ = false;
}

}  // namespace muster::service
