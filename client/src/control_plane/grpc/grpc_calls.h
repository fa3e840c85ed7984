#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_CALLS_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_CALLS_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/src/control_plane/grpc/grpc_link.h"
#include "client/src/control_plane/transport.h"
#include "common/credentials/caller_credentials.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/rpcs.h"
#include "common/rpc/stub_methods.h"

// Calls in flight, driven by the events of a completion queue. The tag of an event is the object.
// Any thread may begin a call. One thread at a time handles the events.
namespace muster::internal {

// A call or stream that has begun.
class InFlightCall {
 public:
  virtual ~InFlightCall() = default;
  virtual void Cancel() = 0;
};

// The receiver of a completion queue's events.
class EventTarget {
 public:
  // Handles the end of the operation that was begun last. `ok` is as gRPC defines it for that
  // operation.
  virtual void OnEvent(bool ok) = 0;
  void* tag() { return this; }

 protected:
  ~EventTarget() = default;
};

// The tag of an operation whose events go to a method, for calls with several operations at a time.
template <class Call, void (Call::*kMethod)(bool ok)>
class EventMethod final : public EventTarget {
 public:
  explicit EventMethod(Call* call) : call_(*call) {}
  void OnEvent(bool ok) override { (call_.*kMethod)(ok); }

 private:
  Call& call_;
};

// State that the calls of one transport share.
struct GrpcCaller {
  CallerCredentials::RetryDecision DecideRetry(uint64_t token, const grpc::Status& status) const {
    return credentials->DecideRetry(token, FromGrpc(status), coordinator);
  }

  const std::shared_ptr<CallerCredentials> credentials;
  const std::string coordinator;  // for messages
  grpc::CompletionQueue* const events;
};

// The context of a call. Any thread may cancel it.
class CancellableContext {
 public:
  // Returns the context. Only the call itself uses it, until Renew().
  grpc::ClientContext* get() const { return context_.get(); }

  // Replaces the context of a call that has ended and is sent again, because gRPC allows one call
  // per context.
  void Renew();
  void Cancel();

 private:
  std::mutex mutex_;  // guards which context is current
  bool cancelled_ = false;
  std::shared_ptr<grpc::ClientContext> context_ = std::make_shared<grpc::ClientContext>();
};

// Removes an ended call from the transport. Runs last in an event, since the call may be destroyed
// when it returns.
using EndedCallback = std::function<void()>;

template <class Req>
class UnaryCall final : public InFlightCall, public EventTarget {
 public:
  UnaryCall(const GrpcCaller& caller, std::shared_ptr<Link> link, Req request, Transport::Done done)
      : caller_(caller),
        link_(std::move(link)),
        request_(std::move(request)),
        done_(std::move(done)) {}

  void Start(EndedCallback ended) {
    ended_ = std::move(ended);
    Send();
  }

  void Cancel() override { context_.Cancel(); }

  void OnEvent(bool /*ok*/) override {
    const CallerCredentials::RetryDecision decision = caller_.DecideRetry(token_, status_);
    if (decision.retry_now) {
      reader_.reset();
      context_.Renew();
      return Send();
    }
    const EndedCallback ended = std::move(ended_);
    done_(decision.status, std::move(response_));
    ended();
  }

 private:
  void Send() {
    token_ = caller_.credentials->Sign(context_.get());
    constexpr auto kMethod = StubMethods<Req>::kAsync;
    reader_ = (link_->stub.get()->*kMethod)(context_.get(), request_, caller_.events);
    reader_->Finish(&response_, &status_, tag());
  }

  const GrpcCaller& caller_;
  const std::shared_ptr<Link> link_;
  const Req request_;
  const Transport::Done done_;
  CancellableContext context_;
  uint64_t token_ = 0;  // the token of the current send
  ResponseOf<Req> response_;
  grpc::Status status_;
  // Allocated in the context's memory.
  std::unique_ptr<grpc::ClientAsyncResponseReader<ResponseOf<Req>>> reader_;
  EndedCallback ended_;
};

// The stream of Attach, as gRPC runs it. Which attempt it serves is decided by AttachStream in
// client/src/protocol.
class AttachCall final : public InFlightCall, public EventTarget {
 public:
  // `on_peer` gets gRPC's name of the peer before each response.
  AttachCall(const GrpcCaller& caller, std::shared_ptr<Link> link, v1::AttachRequest request,
             Transport::StreamHandler handler, std::function<void(const std::string&)> on_peer);

  void Start(EndedCallback ended);
  void Cancel() override { context_.Cancel(); }
  void OnEvent(bool ok) override;

 private:
  enum class Awaits { kStart, kResponse, kEnd };

  void Send();
  void TakeResponse();
  void TakeEnd();

  const GrpcCaller& caller_;
  const std::shared_ptr<Link> link_;
  const v1::AttachRequest request_;
  const Transport::StreamHandler handler_;
  const std::function<void(const std::string&)> on_peer_;
  CancellableContext context_;
  Awaits awaits_ = Awaits::kStart;
  uint64_t token_ = 0;  // the token of the current send
  v1::AttachResponse response_;
  grpc::Status status_;
  // Allocated in the context's memory.
  std::unique_ptr<grpc::ClientAsyncReader<v1::AttachResponse>> reader_;
  EndedCallback ended_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_CALLS_H_
