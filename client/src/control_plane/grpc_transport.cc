#include "client/src/control_plane/grpc_transport.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/src/base/steady_clock.h"
#include "common/awake_callbacks.h"
#include "common/grpc_status.h"
#include "common/overloaded.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::internal {
namespace {

using Async = v1::CoordinatorService::StubInterface::async_interface;
using GrpcDone = std::function<void(grpc::Status)>;

// What has begun and has not ended.
class InFlightSet {
 public:
  void Add(std::shared_ptr<InFlight> call) {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.insert(std::move(call));
  }

  // The last thing that a callback does.
  void Remove(const std::shared_ptr<InFlight>& call) {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.erase(call);
    if (calls_.empty()) empty_.notify_all();
  }

  void CancelAllAndWait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::vector<std::shared_ptr<InFlight>> calls(calls_.begin(), calls_.end());
    lock.unlock();
    for (const auto& call : calls) call->Cancel();
    lock.lock();
    empty_.wait(lock, [this] { return calls_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  std::set<std::shared_ptr<InFlight>> calls_;
};

// A channel, for as long as its calls take and it is in use.
struct Link {
  explicit Link(std::shared_ptr<grpc::Channel> c)
      : channel(std::move(c)), stub(v1::CoordinatorService::NewStub(channel)) {}

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::CoordinatorService::Stub> stub;
  const SteadyTime made = SteadyClock::now();
  bool answered = false;  // at least once
};

// How long an attempt to connect may take. It begins short, so that a coordinator that has moved is
// found soon. But where thousands of processes connect to one at a moment a handshake takes longer,
// and to give it up and begin another one would only make it worse.
class ConnectTimeout {
 public:
  std::chrono::milliseconds value() const { return value_; }
  void Learn(const Link& last) {
    if (last.answered) {
      value_ = kFirst;
    } else if (SteadyClock::now() - last.made >= value_) {
      value_ = std::min(2 * value_, kLargest);
    }
  }

 private:
  static constexpr std::chrono::milliseconds kFirst{5000};
  static constexpr std::chrono::milliseconds kLargest{20000};

  std::chrono::milliseconds value_ = kFirst;
};

// The context of a call, for as long as the call takes. A context holds on to its channel, and a
// channel must not end on one of gRPC's own threads, which its end would wait for; so the callback
// that ends a call lets go of the context before the call counts as ended, and the transport keeps
// the link until then.
class Context {
 public:
  explicit Context(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  // For the call's own use until Release().
  grpc::ClientContext* get() const { return context_.get(); }
  Async* stub() const { return link_->stub->async(); }

  // For a call that has ended and goes out again: a context serves once.
  void Renew() {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto deadline = context_->deadline();
    context_ = std::make_shared<grpc::ClientContext>();
    context_->set_deadline(deadline);
    const bool cancelled = cancelled_;
    lock.unlock();
    if (cancelled) context_->TryCancel();
  }

  void Cancel() {
    std::unique_lock<std::mutex> lock(mutex_);
    cancelled_ = true;
    const std::shared_ptr<grpc::ClientContext> context = context_;
    lock.unlock();
    if (context != nullptr) context->TryCancel();
  }

  void Release() {
    std::lock_guard<std::mutex> lock(mutex_);
    context_.reset();
    link_.reset();
  }

 private:
  std::mutex mutex_;
  bool cancelled_ = false;
  std::shared_ptr<Link> link_;
  std::shared_ptr<grpc::ClientContext> context_ = std::make_shared<grpc::ClientContext>();
};

// What the calls of one transport show, and to whom.
struct Caller {
  CallerCredentials::Judgement Judge(uint64_t token, const absl::Status& status) const {
    return credentials->Judge(token, status, coordinator);
  }

  const std::shared_ptr<CallerCredentials> credentials;
  const std::string coordinator;  // for messages
};

template <class Req, class Resp>
struct UnaryCall : InFlight {
  explicit UnaryCall(std::shared_ptr<Link> link) : context(std::move(link)) {}
  void Cancel() override { context.Cancel(); }

  Context context;
  uint64_t token = 0;  // that was sent
  Req request;
  Resp response;
};

class AttachStream final : public InFlight,
                           public grpc::ClientReadReactor<v1::AttachResponse>,
                           public std::enable_shared_from_this<AttachStream> {
 public:
  // `on_peer` gets gRPC's name of the peer before each response.
  AttachStream(const Caller& caller, std::shared_ptr<Link> link, v1::AttachRequest request,
               Transport::StreamHandler handler, std::function<void(const std::string&)> on_peer,
               InFlightSet* in_flight)
      : caller_(caller),
        context_(std::move(link)),
        request_(std::move(request)),
        handler_(std::move(handler)),
        on_peer_(std::move(on_peer)),
        in_flight_(in_flight) {}

  void Start() {
    token_ = caller_.credentials->Sign(context_.get());
    context_.stub()->Attach(context_.get(), &request_, this);
    StartRead(&response_);
    StartCall();
  }

  void Cancel() override { context_.Cancel(); }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    caller_.Judge(token_, absl::OkStatus());
    on_peer_(context_.get()->peer());
    handler_.on_response(response_);
    StartRead(&response_);
  }

  void OnDone(const grpc::Status& status) override {
    const CallerCredentials::Judgement judgement = caller_.Judge(token_, FromGrpc(status));
    if (judgement.send_again) {
      context_.Renew();
      return Start();
    }
    const std::shared_ptr<InFlight> self = shared_from_this();
    context_.Release();
    handler_.on_end(judgement.status);
    in_flight_->Remove(self);
  }

 private:
  const Caller& caller_;
  Context context_;
  uint64_t token_ = 0;  // that was sent
  const v1::AttachRequest request_;
  v1::AttachResponse response_;
  const Transport::StreamHandler handler_;
  const std::function<void(const std::string&)> on_peer_;
  InFlightSet* const in_flight_;
};

std::string Target(const HostPort& address) {
  const absl::string_view scheme = address.is_ipv4()   ? "ipv4:"
                                   : address.is_ipv6() ? "ipv6:"
                                                       : "dns:///";
  return absl::StrCat(scheme, address.ToString());
}

grpc::ChannelArguments ChannelOptions(std::chrono::milliseconds connect_timeout) {
  constexpr int kLargestBackoffMs = 1000;
  constexpr int kNameTimeoutMs = 5000;
  // Sooner than the daemon, by its default flags: a member that finds its connection hanging begins
  // another one, and is back, once the network is, before it is lost.
  constexpr int kKeepaliveMs = 3000;
  constexpr int kKeepaliveTimeoutMs = 6000;
  grpc::ChannelArguments args;
  // A connection of its own: another member of this process must not keep this one alive.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetMaxReceiveMessageSize(-1);
  args.SetMaxSendMessageSize(-1);
  // Also while no call is in flight: a coordinator whose host has died must be noticed.
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  args.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // The coordinator gives a member that attaches again within seconds its place back.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // In spite of its name: how long one attempt to connect may take.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(connect_timeout.count()));
  args.SetInt(GRPC_ARG_DNS_ARES_QUERY_TIMEOUT_MS, kNameTimeoutMs);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLargestBackoffMs);
  args.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kLargestBackoffMs);
  return args;
}

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(const HostPort& address, std::shared_ptr<CallerCredentials> credentials)
      : target_(Target(address)), caller_{std::move(credentials), address.ToString()} {}

  ~GrpcTransport() override { in_flight_.CancelAllAndWait(); }

  std::shared_ptr<InFlight> Call(Request request, absl::Duration timeout, Done done) override;

  std::shared_ptr<InFlight> Attach(v1::AttachRequest request, StreamHandler handler) override {
    auto stream = std::make_shared<AttachStream>(
        caller_, LiveLink(), std::move(request), std::move(handler),
        [this](const std::string& peer) { SetPeer(peer); }, &in_flight_);
    in_flight_.Add(stream);
    stream->Start();
    return stream;
  }

  bool connected() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return IsConnected(link_.get());
  }

  std::string peer() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return HostOfPeer(peer_);
  }

 private:
  template <class Req, class Resp>
  using Method = void (Async::*)(grpc::ClientContext*, const Req*, Resp*, GrpcDone);

  template <class Req, class Resp>
  std::shared_ptr<InFlight> Begin(Req request, absl::Duration timeout, Done done,
                                  Method<Req, Resp> method) {
    auto call = std::make_shared<UnaryCall<Req, Resp>>(CurrentLink());
    call->request = std::move(request);
    call->context.get()->set_deadline(std::chrono::system_clock::now() +
                                      absl::ToChronoMicroseconds(timeout));
    in_flight_.Add(call);
    Send(call, std::move(done), method);
    return call;
  }

  template <class Req, class Resp>
  void Send(const std::shared_ptr<UnaryCall<Req, Resp>>& call, Done done,
            Method<Req, Resp> method) {
    call->token = caller_.credentials->Sign(call->context.get());
    (call->context.stub()->*method)(
        call->context.get(), &call->request, &call->response,
        [this, call, method, done = std::move(done)](const grpc::Status& status) {
          const CallerCredentials::Judgement judgement =
              caller_.Judge(call->token, FromGrpc(status));
          if (judgement.send_again) {
            call->context.Renew();
            return Send(call, done, method);
          }
          call->context.Release();
          done(judgement.status, std::move(call->response));
          in_flight_.Remove(call);
        });
  }

  static bool IsConnected(const Link* link) {
    return link != nullptr && link->channel->GetState(false) == GRPC_CHANNEL_READY;
  }

  // The link of the latest Attach, which comes before every call.
  std::shared_ptr<Link> CurrentLink() {
    std::lock_guard<std::mutex> lock(mutex_);
    return link_;
  }

  // A link for an Attach: the current one if it is connected, else one that begins at the
  // beginning, with the coordinator's name. A channel of gRPC's would wait longer and longer for a
  // name that is gone for a while, and how long members wait is not for gRPC to decide.
  std::shared_ptr<Link> LiveLink() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (IsConnected(link_.get())) return link_;
    if (link_ != nullptr) {
      connect_timeout_.Learn(*link_);
      retired_.push_back(std::move(link_));
    }
    link_ = std::make_shared<Link>(
        caller_.credentials->NewChannel(target_, ChannelOptions(connect_timeout_.value())));
    const auto unused = [](const std::shared_ptr<Link>& link) { return link.use_count() == 1; };
    retired_.erase(std::remove_if(retired_.begin(), retired_.end(), unused), retired_.end());
    return link_;
  }

  void SetPeer(const std::string& peer) {
    std::lock_guard<std::mutex> lock(mutex_);
    peer_ = peer;
    link_->answered = true;
  }

  const std::string target_;
  const Caller caller_;
  const std::shared_ptr<AwakeCallbacks> awake_callbacks_ = AwakeCallbacks::Get();
  mutable std::mutex mutex_;
  std::shared_ptr<Link> link_;
  ConnectTimeout connect_timeout_;
  std::vector<std::shared_ptr<Link>> retired_;
  std::string peer_;
  InFlightSet in_flight_;
};

std::shared_ptr<InFlight> GrpcTransport::Call(Request request, absl::Duration timeout, Done done) {
  return std::visit(
      Overloaded{
          [&](v1::JoinRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::Join);
          },
          [&](v1::BarrierRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::Barrier);
          },
          [&](v1::BroadcastRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::Broadcast);
          },
          [&](v1::GatherRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::Gather);
          },
          [&](v1::AllGatherRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::AllGather);
          },
          [&](v1::AcquireLeaseRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::AcquireLease);
          },
          [&](v1::CompleteLeaseRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::CompleteLease);
          },
          [&](v1::AbandonLeaseRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::AbandonLease);
          },
          [&](v1::RejoinRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::Rejoin);
          },
          [&](v1::RequestStopRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::RequestStop);
          },
          [&](v1::LeaveRequest& r) {
            return Begin(std::move(r), timeout, std::move(done), &Async::Leave);
          },
      },
      request);
}

}  // namespace

std::unique_ptr<Transport> MakeGrpcTransport(const HostPort& address,
                                             std::shared_ptr<CallerCredentials> credentials) {
  return std::make_unique<GrpcTransport>(address, std::move(credentials));
}

}  // namespace muster::internal
