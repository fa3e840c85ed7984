#include "server/service/call_reactor.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/rpc/streamed_calls.h"
#include "server/journal/records/kept_request.h"
#include "server/service/answers/answer_bytes.h"
#include "server/service/answers/stream_reset.h"
#include "server/service/conversion/request_conversion.h"
#include "server/service/conversion/response_conversion.h"
#include "server/service/raw_message.h"
#include "server/service/status.h"

namespace muster::service {
namespace {

template <typename Request>
absl::Status EncodeResponse(const core::Answer& answer, grpc::ByteBuffer* response) {
  ResponseOf<Request> own;
  ToProto(answer, &own);
  return MakeCallResponse(
      StreamedCall<Request>::kResponse, SlotOf(answer), [&] { return SharedPart(answer, own); },
      own.SerializeAsString(), response);
}

grpc::ByteBuffer ErrorResponse(const absl::Status& error) {
  v1::CallResponse response;
  response.set_code(static_cast<uint32_t>(error.code()));
  response.set_message(std::string(error.message()));
  return ToBytes(response);
}

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* CallReactor::Start(
    const ReactorDependencies& dependencies, grpc::CallbackServerContext* context) noexcept {
  std::shared_ptr<CallReactor> stream(new CallReactor(dependencies, context));
  CallReactor* const reactor = stream.get();
  reactor->self_ = stream;
  const absl::Status opened = dependencies.driver->OpenCallStream(reactor->id_, std::move(stream));
  if (opened.ok()) {
    reactor->StartRead(&reactor->request_);
  } else {
    reactor->Finish(ToGrpcStatus(opened));
  }
  return reactor;
}

CallReactor::CallReactor(const ReactorDependencies& dependencies,
                         grpc::CallbackServerContext* context)
    : dependencies_(dependencies), id_(dependencies.driver->Enter()), context_(context) {}

// ---- Requests ----

// A read also fails if the peer has ended its side, and if it is gone.
void CallReactor::OnReadDone(bool ok) noexcept {
  if (!ok) return Finish(grpc::Status::OK);
  if (const absl::Status s = Receive(); !s.ok()) Finish(ToGrpcStatus(s));
}

absl::Status CallReactor::Receive() {
  return WithRequest<v1::CallRequest>(request_, nullptr, [this](v1::CallRequest* request) {
    if (VisitRequest(request, [this](auto* content) { Begin(content); })) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "CallRequest has no request that this musterd knows; send it as an rpc of its own");
  });
}

template <typename Request>
void CallReactor::Begin(Request* request) {
  journal::KeptRequest kept;
  if (const auto* const hasher = dependencies_.driver->payload_hasher()) {
    kept = journal::Keep(request, "", *hasher);
  }
  auto converted = FromProto(std::move(*request));
  encode_ = &EncodeResponse<Request>;
  send_ = converted.ok() ? SendKeyOf(*converted) : SendKey();
  const core::WaiterId id = dependencies_.driver->Enter();
  {
    const Lock lock(mutex_);
    call_ = id;
  }
  if (!converted.ok()) return End(converted.status(), {});
  dependencies_.unread->Arrived(send_);
  dependencies_.driver->Run({id, *std::move(converted), &kept}, this);
  {
    const Lock lock(mutex_);
    if (call_ != id || !cancelled_) return;
  }
  dependencies_.driver->Cancel(id);  // OnCancel() may have come before Run()
}

// ---- Responses ----

void CallReactor::End(const absl::Status& status, const core::Answer& answer) noexcept {
  const absl::Status sent = status.ok() ? encode_(answer, &response_) : status;
  if (!sent.ok()) response_ = ErrorResponse(sent);
  dependencies_.unread->Answered(call_, send_, response_.Length(), this);
  StartWrite(&response_);
}

UnreadAnswerLimiter::StreamReset CallReactor::PrepareReset() { return MakeStreamReset(context_); }

void CallReactor::OnWriteDone(bool ok) noexcept {
  response_.Clear();
  dependencies_.unread->Done(call_, send_);
  dependencies_.driver->Exit();
  bool ends = false;
  absl::Status end;
  {
    const Lock lock(mutex_);
    call_ = 0;
    ends = ending_ || !ok;
    end = end_;
  }
  if (ends) return Finish(ToGrpcStatus(end));
  StartRead(&request_);
}

// ---- The end ----

void CallReactor::EndAfterCall(const absl::Status& end) noexcept {
  UnreadAnswerLimiter::StreamReset reset;
  {
    const Lock lock(mutex_);
    if (std::exchange(ending_, true)) return;
    end_ = end;
    if (call_ != 0 || done_) return;
    reset = MakeStreamReset(context_);
  }
  reset(end);  // ends the read
}

void CallReactor::OnCancel() noexcept {
  core::WaiterId call = 0;
  {
    const Lock lock(mutex_);
    cancelled_ = true;
    call = call_;
  }
  if (call != 0) dependencies_.driver->Cancel(call);
}

void CallReactor::OnDone() noexcept {
  {
    const Lock lock(mutex_);
    done_ = true;
  }
  dependencies_.driver->ForgetCallStream(id_);
  dependencies_.driver->Exit();
  self_.reset();
}

}  // namespace muster::service
