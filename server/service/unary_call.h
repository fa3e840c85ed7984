#ifndef MUSTER_SERVER_SERVICE_UNARY_CALL_H_
#define MUSTER_SERVER_SERVICE_UNARY_CALL_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/answers/answer_bytes.h"
#include "server/service/answers/let_go.h"
#include "server/service/conversion/response_conversion.h"
#include "server/service/host.h"
#include "server/service/status.h"

namespace muster::service {

// The reactor of every unary call. It holds the waiter's id and no policy, and deletes itself in
// OnDone(). Its methods must not throw: gRPC would answer UNIMPLEMENTED and go on.
template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor, public Call, public UnreadAnswers::Rpc {
 public:
  // Starts a call. `request` is the converted request, or the error to answer with. `kept` is what
  // the journal records of it.
  template <typename Request>
  static grpc::ServerUnaryReactor* Start(const Host& host, grpc::CallbackServerContext* context,
                                         absl::StatusOr<Request> request,
                                         const journal::KeptRequest& kept,
                                         grpc::ByteBuffer* response) noexcept {
    auto* call = new UnaryCall(host, context, response);
    if (!request.ok()) {
      call->Finish(ToGrpcStatus(request.status()));
      return call;
    }
    call->name_ = NameOf(*request);
    host.unread->Arrived(call->name_);
    host.driver->Run({call->id_, *std::move(request), &kept}, call);
    return call;
  }

  // Same, for a call that the inquiry desk answers.
  template <typename Request>
  static grpc::ServerUnaryReactor* StartAtDesk(const Host& host,
                                               grpc::CallbackServerContext* context,
                                               const absl::StatusOr<Request>& request,
                                               grpc::ByteBuffer* response) noexcept {
    auto* call = new UnaryCall(host, context, response);
    if (!request.ok()) {
      call->Finish(ToGrpcStatus(request.status()));
      return call;
    }
    host.unread->Arrived(call->name_);
    host.driver->RunAtDesk(call->id_, call, [&](core::InquiryDesk& desk, core::Time now) {
      return desk.Step(now, call->id_, *request, host.driver->core());
    });
    return call;
  }

  void End(const absl::Status& status, const core::Answer& answer) noexcept override {
    const absl::Status sent = status.ok() ? Respond(answer) : status;
    host_.unread->Answered(id_, name_, response_->Length(), this);
    Finish(ToGrpcStatus(sent));
  }

  UnreadAnswers::LetGo ToLetGo() override { return LetGoOf(context_); }

  // Lets gRPC call OnCancel() and OnDone() on the thread that finds them due. By default gRPC wakes
  // another thread for them, at some 3,000 instructions per arrival. The two functions take locks,
  // which no thread holds while it calls gRPC. gRPC intends this hook for its own reactors; a
  // version without it would fall back to the default.
  bool InternalInlineable() override { return true; }

  void OnCancel() noexcept override { host_.driver->Cancel(id_); }

  void OnDone() noexcept override {
    host_.unread->Done(id_, name_);
    host_.driver->Exit();
    delete this;
  }

 private:
  UnaryCall(const Host& host, grpc::CallbackServerContext* context, grpc::ByteBuffer* response)
      : host_(host), id_(host.driver->Enter()), context_(context), response_(response) {}

  absl::Status Respond(const core::Answer& answer) {
    Response own;
    ToProto(answer, &own);
    return MakeAnswer(
        SlotOf(answer), [&] { return SharedPart(answer, own); }, own.SerializeAsString(),
        response_);
  }

  const Host host_;
  const core::WaiterId id_;
  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_;
  SendName name_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_UNARY_CALL_H_
