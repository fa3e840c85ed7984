#include "client/src/control_plane/grpc/grpc_store_transport.h"

#include <grpcpp/completion_queue.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "client/src/control_plane/grpc/grpc_events.h"
#include "client/src/control_plane/grpc/grpc_link.h"
#include "client/src/control_plane/grpc/grpc_store_call.h"

namespace muster::internal {
namespace {

class GrpcStoreTransport final : public StoreTransport {
 public:
  GrpcStoreTransport(const HostPort& address, std::shared_ptr<CallerCredentials> credentials)
      : links_(address, credentials), caller_{credentials, address.ToString(), &events_} {}

  ~GrpcStoreTransport() override {
    for (auto all = in_flight_.All(); !all.empty(); all = in_flight_.All()) {
      for (const auto& call : all) call->Cancel();
      all.clear();
      HandleNextEvent(&events_, gpr_inf_future(GPR_CLOCK_MONOTONIC));
    }
    events_.Shutdown();
    while (HandleNextEvent(&events_, gpr_inf_future(GPR_CLOCK_MONOTONIC))) {
    }
  }

  void Open(uint64_t attempt, Handler handler) override {
    const auto call =
        std::make_shared<StoreCall>(caller_, links_.ForAttach(), std::move(handler),
                                    [this](const std::string& peer) { links_.Answered(peer); });
    in_flight_.Add(attempt, call);
    call->Start([this, attempt] { in_flight_.Remove(attempt); });
  }

  void Send(uint64_t attempt, v1::StoreRequest request) override {
    if (const auto call = in_flight_.Find(attempt)) call->Send(std::move(request));
  }
  void FinishSending(uint64_t attempt) override {
    if (const auto call = in_flight_.Find(attempt)) call->FinishSending();
  }
  void Cancel(uint64_t attempt) override {
    if (const auto call = in_flight_.Find(attempt)) call->Cancel();
  }

  void Poll(SteadyTime until) override {
    if (until == SteadyTime::max()) {
      HandleNextEvent(&events_, gpr_inf_future(GPR_CLOCK_MONOTONIC));
      return;
    }
    const auto left = std::max(until - SteadyClock::now(), SteadyClock::duration::zero());
    const auto nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    HandleNextEvent(&events_, gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                           gpr_time_from_nanos(nanos, GPR_TIMESPAN)));
  }
  void PollNow() override {
    while (HandleNextEvent(&events_, gpr_time_0(GPR_CLOCK_MONOTONIC))) {
    }
  }
  void Wake() override { wake_.Post(&events_); }

 private:
  GrpcLinks links_;
  grpc::CompletionQueue events_;
  const GrpcCaller caller_;
  WakeEvent wake_;
  InFlightSet<StoreCall> in_flight_;
};

}  // namespace

std::unique_ptr<StoreTransport> MakeGrpcStoreTransport(
    const HostPort& address, std::shared_ptr<CallerCredentials> credentials) {
  return std::make_unique<GrpcStoreTransport>(address, std::move(credentials));
}

}  // namespace muster::internal
