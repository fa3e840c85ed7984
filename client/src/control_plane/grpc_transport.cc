#include "client/src/control_plane/grpc_transport.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/src/control_plane/grpc_calls.h"
#include "client/src/control_plane/grpc_link.h"
#include "client/src/protocol/messages.h"
#include "common/overloaded.h"

namespace muster::internal {
namespace {

using Stub = v1::CoordinatorService::Stub;

// What has begun and has not ended. Thread-safe.
class InFlightSet {
 public:
  void Add(uint64_t attempt, std::shared_ptr<InFlight> call) {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.emplace(attempt, std::move(call));
  }

  void Remove(uint64_t attempt) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto removed = calls_.extract(attempt);
    lock.unlock();  // it may end here
  }

  // Null if it has ended.
  std::shared_ptr<InFlight> Find(uint64_t attempt) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto call = calls_.find(attempt);
    return call == calls_.end() ? nullptr : call->second;
  }

  std::vector<std::shared_ptr<InFlight>> All() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<InFlight>> all;
    for (const auto& entry : calls_) all.push_back(entry.second);
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<InFlight>> calls_;  // by attempt
};

// An event that somebody who waits for events gets, whatever else happens.
class WakeEvent final : public EventTarget {
 public:
  // Thread-safe. One that is on its way will do for all who ask meanwhile.
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
    Begin(attempt, std::make_shared<AttachStream>(
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
  // Waits for the next event, so long. False: there was none; once the queue is shut down there
  // will be none.
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

  template <class Req, class Resp>
  void Unary(uint64_t attempt,
             std::unique_ptr<grpc::ClientAsyncResponseReader<Resp>> (Stub::*method)(
                 grpc::ClientContext*, const Req&, grpc::CompletionQueue*),
             Req request, Done done) {
    Begin(attempt, std::make_shared<UnaryCall<Req, Resp>>(caller_, links_.Current(), method,
                                                          std::move(request), std::move(done)));
  }

  GrpcLinks links_;
  grpc::CompletionQueue events_;
  const GrpcCaller caller_;
  WakeEvent wake_;
  InFlightSet in_flight_;
};

void GrpcTransport::Call(uint64_t attempt, Request request, Done done) {
  const auto send = [&](auto method, auto& r) {
    Unary(attempt, method, std::move(r), std::move(done));
  };
  std::visit(Overloaded{
                 [&](v1::JoinRequest& r) {
                   SetTime(absl::Now(), r.mutable_fingerprint()->mutable_sent_at());
                   send(&Stub::AsyncJoin, r);
                 },
                 [&](v1::BarrierRequest& r) { send(&Stub::AsyncBarrier, r); },
                 [&](v1::BroadcastRequest& r) { send(&Stub::AsyncBroadcast, r); },
                 [&](v1::GatherRequest& r) { send(&Stub::AsyncGather, r); },
                 [&](v1::AllGatherRequest& r) { send(&Stub::AsyncAllGather, r); },
                 [&](v1::AcquireLeaseRequest& r) { send(&Stub::AsyncAcquireLease, r); },
                 [&](v1::CompleteLeaseRequest& r) { send(&Stub::AsyncCompleteLease, r); },
                 [&](v1::AbandonLeaseRequest& r) { send(&Stub::AsyncAbandonLease, r); },
                 [&](v1::RejoinRequest& r) { send(&Stub::AsyncRejoin, r); },
                 [&](v1::RequestStopRequest& r) { send(&Stub::AsyncRequestStop, r); },
                 [&](v1::LeaveRequest& r) { send(&Stub::AsyncLeave, r); },
                 [&](v1::NodeCollectiveRequest& r) { send(&Stub::AsyncNodeCollective, r); },
                 [&](v1::WithdrawArrivalRequest& r) { send(&Stub::AsyncWithdrawArrival, r); },
                 [&](v1::ReleaseGroupsRequest& r) { send(&Stub::AsyncReleaseGroups, r); },
             },
             request);
}

}  // namespace

std::unique_ptr<Transport> MakeGrpcTransport(const HostPort& address,
                                             std::shared_ptr<CallerCredentials> credentials) {
  return std::make_unique<GrpcTransport>(address, std::move(credentials));
}

}  // namespace muster::internal
