#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_FD_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_FD_H_

#include <sys/eventfd.h>
#include <unistd.h>

namespace muster::launcher {

// A flag that wakes an EventLoop from another thread. Thread-safe.
class EventFd {
 public:
  EventFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~EventFd() { close(fd_); }
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;

  // Readable from Set() until Clear(). Pass it to EventLoop::Watch().
  int fd() const { return fd_; }
  void Set() { eventfd_write(fd_, 1); }
  void Clear() {
    eventfd_t count = 0;
    eventfd_read(fd_, &count);
  }

 private:
  const int fd_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_FD_H_
