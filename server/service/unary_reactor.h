#ifndef MUSTER_SERVER_SERVICE_UNARY_REACTOR_H_
#define MUSTER_SERVER_SERVICE_UNARY_REACTOR_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/answers/answer_bytes.h"
#include "server/service/answers/stream_reset.h"
#include "server/service/conversion/response_conversion.h"
#include "server/service/reactor_dependencies.h"
#include "server/service/status.h"

namespace muster::service {

// The reactor of every unary call. It holds the waiter's id and no policy, and deletes itself in
// OnDone(). Its methods must not throw: gRPC would answer UNIMPLEMENTED and go on.
template <typename Response>
class UnaryReactor final : public grpc::ServerUnaryReactor,
                           public Responder,
                           public UnreadAnswerLimiter::Rpc {
 public:
  // Starts a call. `request` is the converted request, or the error to answer with. `kept` is what
  // the journal records of it.
  template <typename Request>
  static grpc::ServerUnaryReactor* Start(const ReactorDependencies& dependencies,
                                         grpc::CallbackServerContext* context,
                                         absl::StatusOr<Request> request,
                                         const journal::KeptRequest& kept,
                                         grpc::ByteBuffer* response) noexcept {
    auto* call = new UnaryReactor(dependencies, context, response);
    if (!request.ok()) {
      call->Finish(ToGrpcStatus(request.status()));
      return call;
    }
    call->send_ = SendKeyOf(*request);
    dependencies.unread->Arrived(call->send_);
    dependencies.driver->Run({call->id_, *std::move(request), &kept}, call);
    return call;
  }

  // Same, for a call that the hang diagnoser answers.
  template <typename Request>
  static grpc::ServerUnaryReactor* StartDiagnosis(const ReactorDependencies& dependencies,
                                                  grpc::CallbackServerContext* context,
                                                  const absl::StatusOr<Request>& request,
                                                  grpc::ByteBuffer* response) noexcept {
    auto* call = new UnaryReactor(dependencies, context, response);
    if (!request.ok()) {
      call->Finish(ToGrpcStatus(request.status()));
      return call;
    }
    dependencies.unread->Arrived(call->send_);
    dependencies.driver->RunDiagnosis(
        call->id_, call, [&](core::HangDiagnoser& diagnoser, core::Time now) {
          return diagnoser.Step(now, call->id_, *request, dependencies.driver->core());
        });
    return call;
  }

  void End(const absl::Status& status, const core::Answer& answer) noexcept override {
    const absl::Status sent = status.ok() ? Respond(answer) : status;
    dependencies_.unread->Answered(id_, send_, response_->Length(), this);
    Finish(ToGrpcStatus(sent));
  }

  UnreadAnswerLimiter::StreamReset PrepareReset() override { return MakeStreamReset(context_); }

  // Lets gRPC call OnCancel() and OnDone() on the thread that finds them due. By default gRPC wakes
  // another thread for them, at some 3,000 instructions per arrival. The two functions take locks,
  // which no thread holds while it calls gRPC. gRPC intends this hook for its own reactors; a
  // version without it would fall back to the default.
  bool InternalInlineable() override { return true; }

  void OnCancel() noexcept override { dependencies_.driver->Cancel(id_); }

  void OnDone() noexcept override {
    dependencies_.unread->Done(id_, send_);
    dependencies_.driver->Exit();
    delete this;
  }

 private:
  UnaryReactor(const ReactorDependencies& dependencies, grpc::CallbackServerContext* context,
               grpc::ByteBuffer* response)
      : dependencies_(dependencies),
        id_(dependencies.driver->Enter()),
        context_(context),
        response_(response) {}

  absl::Status Respond(const core::Answer& answer) {
    Response own;
    ToProto(answer, &own);
    return MakeAnswer(
        SlotOf(answer), [&] { return SharedPart(answer, own); }, own.SerializeAsString(),
        response_);
  }

  const ReactorDependencies dependencies_;
  const core::WaiterId id_;
  grpc::CallbackServerContext* const context_;
  grpc::ByteBuffer* const response_;
  SendKey send_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_UNARY_REACTOR_H_
