#include "client/src/control_plane/grpc/grpc_store_call.h"

#include <utility>

namespace muster::internal {

StoreCall::StoreCall(const GrpcCaller& caller, std::shared_ptr<Link> link,
                     StoreTransport::Handler handler,
                     std::function<void(const std::string&)> on_peer)
    : caller_(caller),
      link_(std::move(link)),
      stub_(v1::StoreService::NewStub(link_->channel)),
      handler_(std::move(handler)),
      on_peer_(std::move(on_peer)) {}

void StoreCall::Start(EndedCallback ended) {
  ended_ = std::move(ended);
  token_ = caller_.credentials->Sign(context_.get());
  std::lock_guard<std::mutex> lock(mutex_);
  stream_ = stub_->PrepareAsyncStore(context_.get(), caller_.events);
  stream_->StartCall(reading_.tag());
}

void StoreCall::Send(v1::StoreRequest request) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (read_all_ || finish_sending_) return;
  const size_t written = is_writing_ ? 1 : 0;
  if (request.has_confirm() && queue_.size() > written && queue_.back().has_confirm()) {
    queue_.back() = std::move(request);
  } else {
    queue_.push_back(std::move(request));
  }
  WriteNext();
}

void StoreCall::FinishSending() {
  std::lock_guard<std::mutex> lock(mutex_);
  finish_sending_ = true;
  WriteNext();
}

void StoreCall::WriteNext() {
  if (!started_ || read_all_ || is_writing_) return;
  if (!queue_.empty()) {
    is_writing_ = true;
    stream_->Write(queue_.front(), writing_.tag());
  } else if (finish_sending_ && !finished_sending_) {
    is_writing_ = finished_sending_ = true;
    stream_->WritesDone(writing_.tag());
  }
}

void StoreCall::OnWritten(bool ok) {
  std::lock_guard<std::mutex> lock(mutex_);
  is_writing_ = false;
  if (!queue_.empty()) queue_.pop_front();
  if (read_all_) return FinishIfIdle();
  // After a failed write, the stream ends, and so does the read.
  if (ok) WriteNext();
}

void StoreCall::OnRead(bool ok) {
  if (awaits_ == Awaits::kEnd) return TakeEnd();
  if (!ok) {
    awaits_ = Awaits::kEnd;
    std::lock_guard<std::mutex> lock(mutex_);
    read_all_ = true;
    return FinishIfIdle();
  }
  if (awaits_ == Awaits::kResponse) TakeResponse();
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(awaits_, Awaits::kResponse) == Awaits::kStart) {
    started_ = true;
    WriteNext();
  }
  stream_->Read(&response_, reading_.tag());
}

void StoreCall::FinishIfIdle() {
  if (!is_writing_) stream_->Finish(&status_, reading_.tag());
}

void StoreCall::TakeResponse() {
  caller_.DecideRetry(token_, grpc::Status::OK);
  on_peer_(context_.get()->peer());
  handler_.on_response(std::move(response_));
  response_.Clear();
}

// A stream that was rejected only for its token is reopened soon, as after any other failure.
void StoreCall::TakeEnd() {
  const CallerCredentials::RetryDecision decision = caller_.DecideRetry(token_, status_);
  const EndedCallback ended = std::move(ended_);
  handler_.on_end(decision.retry_now ? absl::UnavailableError("the token was renewed")
                                     : decision.status);
  ended();
}

}  // namespace muster::internal
