#include "client/src/control_plane/grpc/grpc_call_stream.h"

#include <utility>
#include <variant>

#include "common/rpc/streamed_calls.h"

namespace muster::internal {
namespace {

template <class Req>
Response Take(v1::CallResponse* response) {
  return std::move(*StreamedCall<Req>::In(response));
}

}  // namespace

GrpcCallStream::GrpcCallStream(const GrpcCaller& caller, const std::shared_ptr<Link>& link)
    : caller_(caller), stub_(v1::CallService::NewStub(link->channel)) {}

void GrpcCallStream::Start(EndedCallback ended) {
  ended_ = std::move(ended);
  token_ = caller_.credentials->Sign(context_.get());
  const std::lock_guard<std::mutex> lock(mutex_);
  stream_ = stub_->PrepareAsyncCall(context_.get(), caller_.events);
  stream_->StartCall(reading_.tag());
}

// ---- Calls ----

bool GrpcCallStream::Send(uint64_t attempt, Request* request, Transport::Done* done) {
  return std::visit([&](auto& content) { return SendRequest(attempt, &content, done); }, *request);
}

template <class Req>
bool GrpcCallStream::SendRequest(uint64_t attempt, Req* request, Transport::Done* done) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ending_ || call_.has_value()) return false;
  call_.emplace(Call{attempt, std::move(*done), &Take<Req>});
  *StreamedCall<Req>::In(&request_) = std::move(*request);
  is_unsent_ = true;
  BeginCallIfIdle();
  return true;
}

// The response to a call may come before the event of its write, and the next call before that.
void GrpcCallStream::BeginCallIfIdle() {
  if (!is_unsent_ || is_reading_ || is_writing_) return;
  is_unsent_ = false;
  is_writing_ = true;
  stream_->Write(request_, writing_.tag());
  request_.Clear();  // gRPC has its bytes
  is_reading_ = true;
  stream_->Read(&response_, reading_.tag());
}

void GrpcCallStream::OnWritten(bool /*ok*/) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_writing_ = false;  // a failed write ends the stream, and so the read
  BeginCallIfIdle();
  FinishIfIdle();
}

void GrpcCallStream::OnRead(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  is_reading_ = false;
  if (finishing_) {
    lock.unlock();
    return TakeEnd();
  }
  if (!ok) {
    ending_ = true;
    is_unsent_ = false;
    return FinishIfIdle();
  }
  if (std::exchange(started_, true)) return TakeResponse(std::move(lock));
  BeginCallIfIdle();
  FinishIfIdle();
}

void GrpcCallStream::TakeResponse(std::unique_lock<std::mutex> lock) {
  const Call call = *std::exchange(call_, std::nullopt);
  const absl::Status status(static_cast<absl::StatusCode>(response_.code()), response_.message());
  Response response = status.ok() ? call.take(&response_) : Response();
  if (retired_) context_.Cancel();
  FinishIfIdle();
  lock.unlock();
  call.done(status, std::move(response));
}

// ---- The end ----

bool GrpcCallStream::CancelCall(uint64_t attempt) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!call_.has_value() || call_->attempt != attempt) return false;
  cancelled_ = ending_ = true;
  context_.Cancel();
  return true;
}

void GrpcCallStream::Retire() {
  const std::lock_guard<std::mutex> lock(mutex_);
  retired_ = ending_ = true;
  if (!call_.has_value()) context_.Cancel();
  FinishIfIdle();
}

void GrpcCallStream::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = ending_ = true;
  context_.Cancel();
  FinishIfIdle();
}

void GrpcCallStream::FinishIfIdle() {
  if (!ending_ || finishing_ || is_reading_ || is_writing_) return;
  finishing_ = is_reading_ = true;
  stream_->Finish(&status_, reading_.tag());
}

// A token that was rejected is renewed by the calls, which are sent again as rpcs.
void GrpcCallStream::TakeEnd() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::optional<Call> call = std::exchange(call_, std::nullopt);
  const bool cancelled = cancelled_;
  lock.unlock();
  const EndedCallback ended = std::move(ended_);
  if (call.has_value()) {
    const absl::Status end = caller_.DecideRetry(token_, status_).status;
    call->done(cancelled ? absl::CancelledError("the call was cancelled")
                         : absl::UnavailableError(end.ok() ? "the coordinator has ended the stream"
                                                           : end.message()),
               {});
  }
  ended();
}

}  // namespace muster::internal
