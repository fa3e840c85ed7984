#include "tests/client/fake_transport.h"

#include <utility>

namespace muster::internal {

using Lock = std::unique_lock<std::mutex>;

void FakeCoordinator::Call::Cancel() {
  {
    Lock lock(owner->mutex_);
    cancelled = true;
    owner->changed_.notify_all();
  }
  Reply(absl::CancelledError("cancelled by the client"));
}

void FakeCoordinator::Call::Reply(const absl::Status& status, Response response) {
  {
    Lock lock(owner->mutex_);
    if (std::exchange(ended, true)) return;
  }
  done(status, std::move(response));
  done = nullptr;
}

void FakeCoordinator::Stream::Cancel() { End(absl::CancelledError("cancelled by the client")); }

void FakeCoordinator::Stream::Send(const v1::AttachResponse& response) {
  handler.on_response(response);
}

void FakeCoordinator::Stream::Accept(uint64_t session, const std::vector<uint64_t>& standing) {
  v1::AttachResponse response;
  response.mutable_attached()->mutable_session()->set_daemon_instance(1);
  response.mutable_attached()->mutable_session()->set_counter(session);
  response.mutable_attached()->mutable_limits()->set_max_payload_bytes(1000);
  response.mutable_attached()->mutable_limits()->set_max_name_bytes(64);
  response.mutable_attached()->set_daemon_version("fake");
  for (const uint64_t token : standing) response.mutable_attached()->add_standing_tokens(token);
  Send(response);
}

void FakeCoordinator::Stream::Break(const v1::EpochId& epoch, const std::string& reason,
                                    bool may_rejoin) {
  v1::AttachResponse response;
  *response.mutable_epoch_broken()->mutable_epoch() = epoch;
  response.mutable_epoch_broken()->set_reason(reason);
  response.mutable_epoch_broken()->set_may_rejoin(may_rejoin);
  Send(response);
}

void FakeCoordinator::Stream::End(const absl::Status& status) {
  {
    Lock lock(owner->mutex_);
    if (std::exchange(ended, true)) return;
  }
  handler.on_end(status);
  handler = {};
}

class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(FakeCoordinator* coordinator) : coordinator_(coordinator) {}

  ~FakeTransport() override {
    Lock lock(coordinator_->mutex_);
    const auto streams = coordinator_->streams_;
    const auto calls = coordinator_->calls_;
    lock.unlock();
    for (const auto& call : calls) call->Cancel();
    for (const auto& stream : streams) stream->Cancel();
  }

  std::shared_ptr<InFlight> Call(Request request, absl::Duration timeout, Done done) override {
    auto call = std::make_shared<FakeCoordinator::Call>();
    call->request = std::move(request);
    call->timeout = timeout;
    call->done = std::move(done);
    call->owner = coordinator_;
    Lock lock(coordinator_->mutex_);
    coordinator_->calls_.push_back(call);
    coordinator_->changed_.notify_all();
    const absl::Status answer = coordinator_->answer_to_all_;
    lock.unlock();
    if (!answer.ok()) call->Reply(answer);
    return call;
  }

  std::shared_ptr<InFlight> Attach(v1::AttachRequest request, StreamHandler handler) override {
    auto stream = std::make_shared<FakeCoordinator::Stream>();
    stream->request = std::move(request);
    stream->handler = std::move(handler);
    stream->owner = coordinator_;
    Lock lock(coordinator_->mutex_);
    coordinator_->streams_.push_back(stream);
    coordinator_->changed_.notify_all();
    return stream;
  }

  bool connected() const override { return true; }
  std::string peer() const override { return "127.0.0.1"; }

 private:
  FakeCoordinator* const coordinator_;
};

std::unique_ptr<Transport> FakeCoordinator::NewTransport() {
  return std::make_unique<FakeTransport>(this);
}

std::shared_ptr<FakeCoordinator::Stream> FakeCoordinator::NextStream() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return streams_.size() > streams_taken_; });
  return streams_[streams_taken_++];
}

std::shared_ptr<FakeCoordinator::Call> FakeCoordinator::NextCall() {
  Lock lock(mutex_);
  changed_.wait(lock, [this] { return calls_.size() > calls_taken_; });
  return calls_[calls_taken_++];
}

void FakeCoordinator::AnswerAll(const absl::Status& status) {
  Lock lock(mutex_);
  answer_to_all_ = status;
}

void FakeCoordinator::WaitUntilCancelled(const Call& call) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return call.cancelled; });
}

}  // namespace muster::internal
