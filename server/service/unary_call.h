#ifndef MUSTER_SERVER_SERVICE_UNARY_CALL_H_
#define MUSTER_SERVER_SERVICE_UNARY_CALL_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/answer_bytes.h"
#include "server/service/host.h"
#include "server/service/let_go.h"
#include "server/service/response_conversion.h"
#include "server/service/status.h"

namespace muster::service {

// The reactor of every unary call: holds the waiter's id and no policy. Deletes itself once gRPC is
// done with it. Nothing here may throw: gRPC would answer UNIMPLEMENTED and go on.
template <typename Response>
class UnaryCall final : public grpc::ServerUnaryReactor, public Call, public UnreadAnswers::Rpc {
 public:
  // Starts a call whose request converted to `request`. `kept` is for the journal, where there is
  // one.
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

  // The same for a call that the desk of inquiries answers.
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

  // Lets gRPC call the two below where it finds them due. By default another thread does, which
  // must be woken for it: some 3,000 instructions of an arrival. They take locks, which nobody
  // holds while in gRPC. Meant for gRPC's own reactors; one without it would do as by default.
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
