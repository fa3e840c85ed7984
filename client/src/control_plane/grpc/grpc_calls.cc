#include "client/src/control_plane/grpc/grpc_calls.h"

namespace muster::internal {

void CancellableContext::Renew() {
  std::unique_lock<std::mutex> lock(mutex_);
  context_ = std::make_shared<grpc::ClientContext>();
  const bool cancelled = cancelled_;
  lock.unlock();
  if (cancelled) context_->TryCancel();
}

void CancellableContext::Cancel() {
  std::unique_lock<std::mutex> lock(mutex_);
  cancelled_ = true;
  const std::shared_ptr<grpc::ClientContext> context = context_;
  lock.unlock();
  context->TryCancel();
}

AttachCall::AttachCall(const GrpcCaller& caller, std::shared_ptr<Link> link,
                       v1::AttachRequest request, Transport::StreamHandler handler,
                       std::function<void(const std::string&)> on_peer)
    : caller_(caller),
      link_(std::move(link)),
      request_(std::move(request)),
      handler_(std::move(handler)),
      on_peer_(std::move(on_peer)) {}

void AttachCall::Start(EndedCallback ended) {
  ended_ = std::move(ended);
  Send();
}

void AttachCall::Send() {
  token_ = caller_.credentials->Sign(context_.get());
  awaits_ = Awaits::kStart;
  reader_ = link_->stub->PrepareAsyncAttach(context_.get(), request_, caller_.events);
  reader_->StartCall(tag());
}

void AttachCall::OnEvent(bool ok) {
  if (awaits_ == Awaits::kEnd) return TakeEnd();
  if (!ok) {
    awaits_ = Awaits::kEnd;
    return reader_->Finish(&status_, tag());
  }
  if (awaits_ == Awaits::kResponse) TakeResponse();
  awaits_ = Awaits::kResponse;
  reader_->Read(&response_, tag());
}

void AttachCall::TakeResponse() {
  caller_.DecideRetry(token_, grpc::Status::OK);
  on_peer_(context_.get()->peer());
  handler_.on_response(response_);
}

void AttachCall::TakeEnd() {
  const CallerCredentials::RetryDecision decision = caller_.DecideRetry(token_, status_);
  if (decision.retry_now) {
    reader_.reset();
    context_.Renew();
    return Send();
  }
  const EndedCallback ended = std::move(ended_);
  handler_.on_end(decision.status);
  ended();
}

}  // namespace muster::internal
