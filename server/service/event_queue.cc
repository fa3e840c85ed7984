#include "server/service/event_queue.h"

namespace muster::service {

void EventQueue::Push(core::Time now, StreamItem item) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool ends = item.event == nullptr;
  if (!ends && overflow_ == Overflow::kNo && items_.size() >= kMaxWaiting) {
    overflow_ = Overflow::kNew;
    items_.clear();
  }
  if (ends || overflow_ == Overflow::kNo) items_.emplace_back(now, std::move(item));
}

bool EventQueue::TakeOverflow() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (overflow_ != Overflow::kNew) return false;
  overflow_ = Overflow::kKnown;
  return true;
}

std::optional<EventQueue::Item> EventQueue::Next() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (writing_ || items_.empty()) return std::nullopt;
  writing_ = true;
  Item next = std::move(items_.front());
  items_.pop_front();
  return next;
}

void EventQueue::Written() {
  std::lock_guard<std::mutex> lock(mutex_);
  writing_ = false;
}

}  // namespace muster::service
