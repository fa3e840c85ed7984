#include "client/src/control_plane/grpc/grpc_transport.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "client/src/control_plane/grpc/grpc_calls.h"
#include "client/src/control_plane/grpc/grpc_link.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

// The calls and streams that have not ended. Thread-safe.
class InFlightSet {
 public:
  void Add(uint64_t attempt, std::shared_ptr<InFlightCall> call) {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.emplace(attempt, std::move(call));
  }

  void Remove(uint64_t attempt) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto removed = calls_.extract(attempt);
    lock.unlock();  // the call may be destroyed here, without the lock
  }

  // Returns null if the call has ended.
  std::shared_ptr<InFlightCall> Find(uint64_t attempt) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto call = calls_.find(attempt);
    return call == calls_.end() ? nullptr : call->second;
  }

  std::vector<std::shared_ptr<InFlightCall>> All() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<InFlightCall>> all;
    for (const auto& entry : calls_) all.push_back(entry.second);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<InFlightCall>> calls_;  // by attempt
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

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(const HostPort& address, std::shared_ptr<CallerCredentials> credentials)
      : links_(address, credentials), caller_{credentials, address.ToString(), &events_} {}

  ~GrpcTransport() override {
    for (auto all = in_flight_.All(); !all.empty(); all = in_flight_.All()) {
      for (const auto& call : all) call->Cancel();
      all.clear();
      Poll();
    }
    events_.Shutdown();
    while (TakeEvent(gpr_inf_future(GPR_CLOCK_MONOTONIC))) {
    }
  }

  void Call(uint64_t attempt, Request request, Done done) override;

  void Attach(uint64_t attempt, v1::AttachRequest request, StreamHandler handler) override {
    Begin(attempt, std::make_shared<AttachCall>(
                       caller_, links_.ForAttach(), std::move(request), std::move(handler),
                       [this](const std::string& peer) { links_.Answered(peer); }));
  }

  void Cancel(uint64_t attempt) override {
    if (const auto call = in_flight_.Find(attempt)) call->Cancel();
  }

  void Poll() override { TakeEvent(gpr_inf_future(GPR_CLOCK_MONOTONIC)); }
  void PollNow() override {
    while (TakeEvent(gpr_time_0(GPR_CLOCK_MONOTONIC))) {
    }
  }

  void Wake() override { wake_.Post(&events_); }

  bool connected() const override { return links_.connected(); }
  std::string peer() const override { return links_.peer(); }

 private:
  // Waits until `until` for the next event, and handles it. Returns false if there was none, or if
  // the queue is shut down.
  bool TakeEvent(gpr_timespec until) {
    void* tag = nullptr;
    bool ok = false;
    if (events_.AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) return false;
    static_cast<EventTarget*>(tag)->OnEvent(ok);
    return true;
  }

  template <class C>
  void Begin(uint64_t attempt, const std::shared_ptr<C>& call) {
    in_flight_.Add(attempt, call);
    call->Start([this, attempt] { in_flight_.Remove(attempt); });
  }

  GrpcLinks links_;
  grpc::CompletionQueue events_;
  const GrpcCaller caller_;
  WakeEvent wake_;
  InFlightSet in_flight_;
};

void GrpcTransport::Call(uint64_t attempt, Request request, Done done) {
  if (auto* const join = std::get_if<v1::JoinRequest>(&request)) {
    SetTime(absl::Now(), join->mutable_fingerprint()->mutable_sent_at());
  }
  std::visit(
      [&](auto& r) {
        using Call = UnaryCall<std::decay_t<decltype(r)>>;
        Begin(attempt,
              std::make_shared<Call>(caller_, links_.Current(), std::move(r), std::move(done)));
      },
      request);
}

}  // namespace

std::unique_ptr<Transport> MakeGrpcTransport(const HostPort& address,
                                             std::shared_ptr<CallerCredentials> credentials) {
  return std::make_unique<GrpcTransport>(address, std::move(credentials));
}

}  // namespace muster::internal
