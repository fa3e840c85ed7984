#include "client/src/background_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "muster/log.h"

namespace muster::internal {

BackgroundCalls::~BackgroundCalls() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void BackgroundCalls::Post(std::string what, Request request) {
  std::lock_guard<std::mutex> lock(mutex_);
  calls_.push_back({std::move(what), std::move(request)});
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  changed_.notify_all();
}

void BackgroundCalls::Flush(SteadyTime deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return calls_.empty(); });
}

void BackgroundCalls::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !calls_.empty(); });
    if (stopping_) return;
    Call call = calls_.front();
    lock.unlock();
    Make(std::move(call));
    lock.lock();
    calls_.pop_front();
    changed_.notify_all();
  }
}

void BackgroundCalls::Make(Call call) {
  int sends = 0;
  const Patience patience(call.what, timeout_);
  const absl::Status status = connection_->Call(std::move(call.request), patience, &sends).status();
  if (!status.ok()) Log(LogLevel::kDebug, absl::StrCat(call.what, ": ", status.message()));
}

}  // namespace muster::internal
