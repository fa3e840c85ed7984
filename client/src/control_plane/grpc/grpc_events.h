#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_EVENTS_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_EVENTS_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/src/control_plane/grpc/grpc_calls.h"

namespace muster::internal {

// The calls and streams that have not ended. Thread-safe.
template <class Call>
class InFlightSet {
 public:
  void Add(uint64_t attempt, std::shared_ptr<Call> call) {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.emplace(attempt, std::move(call));
  }

  void Remove(uint64_t attempt) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto removed = calls_.extract(attempt);
    lock.unlock();  // the call may be destroyed here, without the lock
  }

  // Returns null if the call has ended.
  std::shared_ptr<Call> Find(uint64_t attempt) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto call = calls_.find(attempt);
    return call == calls_.end() ? nullptr : call->second;
  }

  std::vector<std::shared_ptr<Call>> All() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<Call>> all;
    for (const auto& entry : calls_) all.push_back(entry.second);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<Call>> calls_;  // by attempt
};

// An event without an operation, which makes the polling thread return.
class WakeEvent final : public EventTarget {
 public:
  // Posts the event. Thread-safe. An event on its way serves all callers.
  void Post(grpc::CompletionQueue* events) {
    if (posted_.exchange(true)) return;
    alarm_.Set(events, gpr_time_0(GPR_CLOCK_MONOTONIC), tag());
  }
  void OnEvent(bool /*ok*/) override { posted_ = false; }

 private:
  std::atomic<bool> posted_ = false;
  grpc::Alarm alarm_;
};

// Waits until `until` for the next event, and handles it. Returns false if there was none, or if
// the queue is shut down.
inline bool HandleNextEvent(grpc::CompletionQueue* events, gpr_timespec until) {
  void* tag = nullptr;
  bool ok = false;
  if (events->AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) return false;
  static_cast<EventTarget*>(tag)->OnEvent(ok);
  return true;
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_EVENTS_H_
