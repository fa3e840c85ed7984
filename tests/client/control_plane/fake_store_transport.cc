#include "tests/client/control_plane/fake_store_transport.h"

#include <thread>
#include <utility>

namespace muster::internal {

class FakeStoreTransport final : public StoreTransport {
 public:
  explicit FakeStoreTransport(std::shared_ptr<FakeStoreDaemon::State> state)
      : state_(std::move(state)) {}

  ~FakeStoreTransport() override {
    std::unique_lock<std::mutex> lock(state_->mutex);
    const Handler handler = std::exchange(state_->handler, {});
    state_->events.clear();
    lock.unlock();
    if (handler.on_end) handler.on_end(absl::CancelledError("the transport was destroyed"));
  }

  void Open(uint64_t attempt, Handler handler) override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->attempt = attempt;
    state_->handler = std::move(handler);
    state_->left = false;
    state_->said = state_->confirmed = 0;
    state_->requests.clear();
    state_->changed.notify_all();
  }

  void Send(uint64_t attempt, v1::StoreRequest request) override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (attempt != state_->attempt) return;
    if (request.has_confirm()) {
      state_->confirmed = request.confirm().processed();
    } else {
      state_->requests.push_back(std::move(request));
    }
    state_->changed.notify_all();
  }

  void FinishSending(uint64_t attempt) override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (attempt != state_->attempt) return;
    state_->left = true;
    if (state_->handler.on_end && !state_->ignores_leaving) {
      state_->events.emplace_back(
          [handler = std::exchange(state_->handler, {})] { handler.on_end(absl::OkStatus()); });
    }
    state_->changed.notify_all();
  }

  void Cancel(uint64_t attempt) override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    if (attempt != state_->attempt || !state_->handler.on_end) return;
    state_->events.emplace_back([handler = std::exchange(state_->handler, {})] {
      handler.on_end(absl::CancelledError("the stream was cancelled"));
    });
    state_->changed.notify_all();
  }

  void Poll(SteadyTime until) override {
    std::unique_lock<std::mutex> lock(state_->mutex);
    state_->poller = std::this_thread::get_id();
    state_->changed.notify_all();
    state_->changed.wait_until(lock, until,
                               [this] { return state_->woken || !state_->events.empty(); });
    state_->woken = false;
    state_->poller = std::thread::id();
    if (!state_->events.empty()) RunEvent(&lock);
  }

  void PollNow() override {
    std::unique_lock<std::mutex> lock(state_->mutex);
    while (!state_->events.empty()) RunEvent(&lock);
  }

  void Wake() override {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->woken = true;
    state_->changed.notify_all();
  }

 private:
  void RunEvent(std::unique_lock<std::mutex>* lock) {
    const std::function<void()> event = std::move(state_->events.front());
    state_->events.pop_front();
    state_->receiver = std::this_thread::get_id();
    lock->unlock();
    event();
    lock->lock();
  }

  const std::shared_ptr<FakeStoreDaemon::State> state_;
};

std::unique_ptr<StoreTransport> FakeStoreDaemon::NewTransport() {
  return std::make_unique<FakeStoreTransport>(state_);
}

void FakeStoreDaemon::AcceptNext() {
  while (!Next().claim().last()) {
  }
  v1::StoreResponse response;
  response.mutable_opened()->set_max_key_bytes(8 << 10);
  response.mutable_opened()->set_max_value_bytes(8 << 20);
  Say(std::move(response));
}

v1::StoreRequest FakeStoreDaemon::Next() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [this] { return !state_->requests.empty(); });
  v1::StoreRequest request = std::move(state_->requests.front());
  state_->requests.pop_front();
  return request;
}

void FakeStoreDaemon::Say(v1::StoreResponse response) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  ++state_->said;
  state_->events.emplace_back(
      [on_response = state_->handler.on_response, response] { on_response(response); });
  state_->changed.notify_all();
}

void FakeStoreDaemon::AwaitConfirmation() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->confirmed == state_->said; });
}

std::thread::id FakeStoreDaemon::poller() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->poller;
}

void FakeStoreDaemon::AwaitPollOf(std::thread::id thread) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->poller == thread; });
}

std::thread::id FakeStoreDaemon::receiver() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->receiver;
}

void FakeStoreDaemon::End(const absl::Status& status) {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->requests.clear();
  state_->events.emplace_back(
      [handler = std::exchange(state_->handler, {}), status] { handler.on_end(status); });
  state_->changed.notify_all();
}

void FakeStoreDaemon::IgnoreLeaving() {
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->ignores_leaving = true;
}

void FakeStoreDaemon::AwaitLeaving() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->left; });
}

}  // namespace muster::internal
