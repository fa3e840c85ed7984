#include "client/src/control_plane/grpc/grpc_transport.h"

#include <grpcpp/completion_queue.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/time/clock.h"
#include "client/src/control_plane/grpc/grpc_calls.h"
#include "client/src/control_plane/grpc/grpc_events.h"
#include "client/src/control_plane/grpc/grpc_link.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

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
  bool TakeEvent(gpr_timespec until) { return HandleNextEvent(&events_, until); }

  template <class C>
  void Begin(uint64_t attempt, const std::shared_ptr<C>& call) {
    in_flight_.Add(attempt, call);
    call->Start([this, attempt] { in_flight_.Remove(attempt); });
  }

  GrpcLinks links_;
  grpc::CompletionQueue events_;
  const GrpcCaller caller_;
  WakeEvent wake_;
  InFlightSet<InFlightCall> in_flight_;
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
