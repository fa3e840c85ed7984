#include "client/launcher/process/event_loop.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

// Rounds up, so that the loop does not spin during the last millisecond.
int Milliseconds(absl::Duration timeout) {
  constexpr absl::Duration kLongest = absl::Hours(1);
  timeout = std::clamp(timeout, absl::ZeroDuration(), kLongest);
  return static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(timeout, absl::Milliseconds(1))));
}

}  // namespace

EventLoop::EventLoop() : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)) {}

EventLoop::~EventLoop() { close(epoll_fd_); }

void EventLoop::Watch(int fd, Handler handler) { Add(fd, EPOLLIN, std::move(handler)); }

void EventLoop::WatchFor(int fd, bool read, bool write, Handler handler) {
  Forget(fd);
  Add(fd, (read ? uint32_t{EPOLLIN} : 0) | (write ? uint32_t{EPOLLOUT} : 0), std::move(handler));
}

// epoll reports EPOLLERR and EPOLLHUP even if no event is requested.
void EventLoop::WatchReader(int fd, Handler handler) {
  struct stat status;
  if (fstat(fd, &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) return;
  Add(fd, 0, std::move(handler));
}

void EventLoop::Add(int fd, uint32_t events, Handler handler) {
  handlers_[fd] = std::move(handler);
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
}

void EventLoop::Forget(int fd) {
  if (handlers_.erase(fd) > 0) epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::At(absl::Time time, Handler handler) { timers_.emplace(time, std::move(handler)); }

void EventLoop::RunTimers() {
  while (!timers_.empty() && timers_.begin()->first <= SteadyNow()) {
    timers_.extract(timers_.begin()).mapped()();
  }
}

void EventLoop::StayAwake(absl::Duration time) { awake_until_ = SteadyNow() + time; }

int EventLoop::Wait(epoll_event* events, int size, absl::Duration timeout) {
  const absl::Time begun = SteadyNow();
  const absl::Time awake_until = std::min(awake_until_, begun + timeout);
  absl::Time now = begun;
  for (; now < awake_until; now = SteadyNow()) {
    const int count = epoll_wait(epoll_fd_, events, size, 0);
    if (count != 0) return count;
    sched_yield();
  }
  return epoll_wait(epoll_fd_, events, size, Milliseconds(timeout - (now - begun)));
}

void EventLoop::Poll(absl::Duration timeout) {
  if (!timers_.empty()) timeout = std::min(timeout, timers_.begin()->first - SteadyNow());
  std::array<epoll_event, 256> events;
  const int count = Wait(events.data(), static_cast<int>(events.size()), timeout);
  for (int i = 0; i < count; ++i) {
    const auto found = handlers_.find(events[i].data.fd);
    if (found == handlers_.end()) continue;  // an earlier handler has called Forget()
    const Handler handler = found->second;   // a copy, because the handler may call Forget()
    handler();
  }
  RunTimers();
}

}  // namespace muster::launcher
