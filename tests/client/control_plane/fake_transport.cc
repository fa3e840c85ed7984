#include "tests/client/control_plane/fake_transport.h"

#include <gtest/gtest.h>

#include <future>
#include <utility>

namespace muster::internal {

using Lock = std::unique_lock<std::mutex>;

void FakeCoordinator::Events::Add(std::function<void()> event) {
  Lock lock(mutex_);
  events_.push_back(std::move(event));
  added_.notify_one();
}

void FakeCoordinator::Events::AddAndWait(std::function<void()> event) {
  std::promise<void> run;
  Add([&] {
    event();
    run.set_value();
  });
  run.get_future().wait();
}

void FakeCoordinator::Events::RunNext() {
  Lock lock(mutex_);
  EXPECT_FALSE(std::exchange(in_use_, true)) << "two threads poll";
  added_.wait(lock, [this] { return !events_.empty(); });
  RunFront(&lock);
  in_use_ = false;
}

void FakeCoordinator::Events::RunReady() {
  Lock lock(mutex_);
  EXPECT_FALSE(std::exchange(in_use_, true)) << "two threads poll";
  while (!events_.empty()) RunFront(&lock);
  in_use_ = false;
}

void FakeCoordinator::Events::RunFront(Lock* lock) {
  const std::function<void()> event = std::move(events_.front());
  events_.pop_front();
  thread_ = std::this_thread::get_id();
  lock->unlock();
  event();
  lock->lock();
}

std::thread::id FakeCoordinator::Events::thread() const {
  Lock lock(mutex_);
  return thread_;
}

void FakeCoordinator::Events::RunAll() {
  Lock lock(mutex_);
  const std::deque<std::function<void()>> events = std::exchange(events_, {});
  lock.unlock();
  for (const auto& event : events) event();
}

void FakeCoordinator::Call::Cancel() {
  {
    Lock lock(owner->mutex_);
    cancelled = true;
    owner->changed_.notify_all();
  }
  if (const auto end = End(absl::CancelledError("cancelled by the client"), {})) events->Add(end);
}

void FakeCoordinator::Call::Reply(const absl::Status& status, Response response) {
  if (const auto end = End(status, std::move(response))) events->AddAndWait(end);
}

std::function<void()> FakeCoordinator::Call::End(const absl::Status& status, Response response) {
  Lock lock(owner->mutex_);
  if (std::exchange(ended, true)) return nullptr;
  return
      [done = std::move(done), status, response = std::move(response)] { done(status, response); };
}

void FakeCoordinator::Stream::Cancel() {
  if (const auto end = Ending(absl::CancelledError("cancelled by the client"))) events->Add(end);
}

void FakeCoordinator::Stream::Send(const v1::AttachResponse& response) {
  events->AddAndWait([on_response = handler.on_response, response] { on_response(response); });
}

void FakeCoordinator::Stream::Accept(uint64_t session, const std::vector<uint64_t>& standing,
                                     bool node_collectives) {
  v1::AttachResponse response;
  response.mutable_attached()->mutable_session()->set_daemon_instance(1);
  response.mutable_attached()->mutable_session()->set_counter(session);
  response.mutable_attached()->mutable_limits()->set_max_payload_bytes(1000);
  response.mutable_attached()->mutable_limits()->set_max_name_bytes(64);
  response.mutable_attached()->set_daemon_version("fake");
  response.mutable_attached()->set_node_collectives(node_collectives);
  response.mutable_attached()->set_node_commits(node_collectives);
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
  if (const auto end = Ending(status)) events->AddAndWait(end);
}

std::function<void()> FakeCoordinator::Stream::Ending(const absl::Status& status) {
  Lock lock(owner->mutex_);
  if (std::exchange(ended, true)) return nullptr;
  return [on_end = std::exchange(handler, {}).on_end, status] { on_end(status); };
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
    events_->RunAll();
  }

  void Call(uint64_t attempt, Request request, Done done) override {
    auto call = std::make_shared<FakeCoordinator::Call>();
    call->attempt = attempt;
    call->request = std::move(request);
    call->done = std::move(done);
    call->events = events_;
    call->owner = coordinator_;
    Lock lock(coordinator_->mutex_);
    coordinator_->calls_.push_back(call);
    coordinator_->changed_.notify_all();
    const absl::Status answer = coordinator_->answer_to_all_;
    lock.unlock();
    if (!answer.ok()) events_->Add(call->End(answer, {}));
  }

  void Attach(uint64_t attempt, v1::AttachRequest request, StreamHandler handler) override {
    auto stream = std::make_shared<FakeCoordinator::Stream>();
    stream->attempt = attempt;
    stream->request = std::move(request);
    stream->handler = std::move(handler);
    stream->events = events_;
    stream->owner = coordinator_;
    Lock lock(coordinator_->mutex_);
    coordinator_->streams_.push_back(stream);
    coordinator_->changed_.notify_all();
  }

  void Cancel(uint64_t attempt) override {
    if (const auto call = Find(coordinator_->calls_, attempt)) call->Cancel();
    if (const auto stream = Find(coordinator_->streams_, attempt)) stream->Cancel();
  }

  void Poll() override { events_->RunNext(); }
  void PollNow() override { events_->RunReady(); }
  void Wake() override {
    events_->Add([] {});
  }

  bool connected() const override { return true; }
  std::string peer() const override { return "127.0.0.1"; }

 private:
  template <class T>
  std::shared_ptr<T> Find(const std::vector<std::shared_ptr<T>>& all, uint64_t attempt) const {
    Lock lock(coordinator_->mutex_);
    for (const std::shared_ptr<T>& one : all) {
      if (one->attempt == attempt && one->events == events_) return one;
    }
    return nullptr;
  }

  FakeCoordinator* const coordinator_;
  const std::shared_ptr<FakeCoordinator::Events> events_ =
      std::make_shared<FakeCoordinator::Events>();
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

std::shared_ptr<FakeCoordinator::Call> FakeCoordinator::TryNextCall() {
  Lock lock(mutex_);
  return calls_.size() > calls_taken_ ? calls_[calls_taken_++] : nullptr;
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
