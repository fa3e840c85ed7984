#include "client/src/control_plane/grpc/grpc_transport.h"

#include <grpcpp/completion_queue.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/time/clock.h"
#include "client/src/control_plane/grpc/grpc_call_stream.h"
#include "client/src/control_plane/grpc/grpc_calls.h"
#include "client/src/control_plane/grpc/grpc_events.h"
#include "client/src/control_plane/grpc/grpc_link.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

class GrpcTransport final : public Transport {
 public:
  // How many calls of a link are rpcs before the first one that takes the stream.
  static constexpr uint64_t kRpcsBeforeStream = 16;

  GrpcTransport(const HostPort& address, std::shared_ptr<CallerCredentials> credentials)
      : links_(address, credentials), caller_{credentials, address.ToString(), &events_} {}

  ~GrpcTransport() override {
    CancelAll(&in_flight_);
    CancelAll(&call_streams_);
    events_.Shutdown();
    while (TakeEvent(gpr_inf_future(GPR_CLOCK_MONOTONIC))) {
    }
  }

  void Call(uint64_t attempt, Request request, Done done) override;
  void Attach(uint64_t attempt, v1::AttachRequest request, StreamHandler handler) override;
  void Cancel(uint64_t attempt) override;

  void Poll() override { TakeEvent(gpr_inf_future(GPR_CLOCK_MONOTONIC)); }
  void PollNow() override {
    while (TakeEvent(gpr_time_0(GPR_CLOCK_MONOTONIC))) {
    }
  }

  void Wake() override { wake_.Post(&events_); }

  bool connected() const override { return links_.connected(); }
  std::string peer() const override { return links_.peer(); }

 private:
  template <class C>
  void CancelAll(InFlightSet<C>* set) {
    for (auto all = set->All(); !all.empty(); all = set->All()) {
      for (const auto& call : all) call->Cancel();
      all.clear();
      Poll();
    }
  }
  bool TakeEvent(gpr_timespec until) { return HandleNextEvent(&events_, until); }

  template <class C>
  void Begin(uint64_t attempt, const std::shared_ptr<C>& call) {
    in_flight_.Add(attempt, call);
    call->Start([this, attempt] { in_flight_.Remove(attempt); });
  }

  // Notes whether the daemon, which has answered an Attach on the link, takes streams of calls.
  void NoteAttached(const std::shared_ptr<Link>& link, bool call_streams);
  // Returns the stream for the next call, or null if it must be an rpc. Opens the stream after some
  // calls: it costs the daemon as much memory as two thirds of a member, and the members whose
  // arrivals others carry make few calls. If the daemon ends a stream, the next one comes with the
  // next Attach, so that a stream which always fails does not cost every call a retry.
  std::shared_ptr<GrpcCallStream> StreamForCall();

  GrpcLinks links_;
  grpc::CompletionQueue events_;
  const GrpcCaller caller_;
  WakeEvent wake_;
  InFlightSet<InFlightCall> in_flight_;
  InFlightSet<GrpcCallStream> call_streams_;  // by a number of their own
  std::mutex stream_mutex_;                   // guards the fields below
  std::shared_ptr<Link> streaming_;           // the link whose daemon takes streams, or null
  uint64_t calls_on_link_ = 0;
  uint64_t streams_ = 0;                    // opened so far
  std::shared_ptr<GrpcCallStream> stream_;  // the last one since the latest Attach
};

void GrpcTransport::Attach(uint64_t attempt, v1::AttachRequest request, StreamHandler handler) {
  const std::shared_ptr<Link> link = links_.ForAttach();
  handler.on_response = [this, link, on_response = std::move(handler.on_response)](
                            const v1::AttachResponse& response) {
    if (response.has_attached()) NoteAttached(link, response.attached().call_streams());
    on_response(response);
  };
  Begin(attempt,
        std::make_shared<AttachCall>(caller_, link, std::move(request), std::move(handler),
                                     [this](const std::string& peer) { links_.Answered(peer); }));
}

void GrpcTransport::NoteAttached(const std::shared_ptr<Link>& link, bool call_streams) {
  std::unique_lock<std::mutex> lock(stream_mutex_);
  if (streaming_ != link) calls_on_link_ = 0;
  streaming_ = call_streams ? link : nullptr;
  const auto older = std::exchange(stream_, nullptr);
  lock.unlock();
  if (older != nullptr) older->Retire();
}

std::shared_ptr<GrpcCallStream> GrpcTransport::StreamForCall() {
  const std::shared_ptr<Link> link = links_.Current();
  std::unique_lock<std::mutex> lock(stream_mutex_);
  if (streaming_ != link || ++calls_on_link_ <= kRpcsBeforeStream) return nullptr;
  if (stream_ != nullptr) return stream_;
  const auto opened = stream_ = std::make_shared<GrpcCallStream>(caller_, link);
  const uint64_t number = ++streams_;
  call_streams_.Add(number, opened);
  opened->Start([this, number] { call_streams_.Remove(number); });
  return opened;
}

void GrpcTransport::Cancel(uint64_t attempt) {
  for (const auto& stream : call_streams_.All()) {
    if (!stream->CancelCall(attempt)) continue;
    const std::lock_guard<std::mutex> lock(stream_mutex_);
    if (stream_ == stream) stream_ = nullptr;  // the next call opens another one
    return;
  }
  if (const auto call = in_flight_.Find(attempt)) call->Cancel();
}

void GrpcTransport::Call(uint64_t attempt, Request request, Done done) {
  if (auto* const join = std::get_if<v1::JoinRequest>(&request)) {
    SetTime(absl::Now(), join->mutable_fingerprint()->mutable_sent_at());
  }
  const auto stream = StreamForCall();
  if (stream != nullptr && stream->Send(attempt, &request, &done)) return;
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
