#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_LOOP_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_LOOP_H_

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>

#include "absl/time/time.h"

namespace muster::launcher {

// Calls handlers when file descriptors become readable, or their other end closes, and when timers
// are due. Handlers run in the order in which their descriptors became ready. For pidfds, this is
// the order in which the processes ended. Not thread-safe.
class EventLoop {
 public:
  using Handler = std::function<void()>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls the handler whenever `fd` is readable. Does not own `fd`.
  void Watch(int fd, Handler handler);
  // Calls the handler when the last reader of `fd`, a pipe or socket, is gone. Does nothing for
  // other kinds of files. Do not use it together with Watch() on the same descriptor.
  void WatchReader(int fd, Handler handler);
  // Calls the handler whenever `fd` is readable, if `read`, or writable, if `write`. Replaces an
  // earlier handler of `fd`.
  void WatchFor(int fd, bool read, bool write, Handler handler);
  // Stops watching `fd`. Call it before `fd` is closed.
  void Forget(int fd);

  // Calls the handler once, at or soon after this SteadyNow() time.
  void At(absl::Time time, Handler handler);

  // Lets the next Poll() ask again and again instead of blocking, for so long. For descriptors that
  // become ready within microseconds, since it takes longer than that to wake a thread. Other
  // threads may have the CPU in between.
  void StayAwake(absl::Duration time);

  // Blocks until a descriptor is ready or `timeout` has passed. Then runs the handlers that are
  // due.
  void Poll(absl::Duration timeout);

 private:
  void Add(int fd, uint32_t events, Handler handler);
  int Wait(epoll_event* events, int size, absl::Duration timeout);
  void RunTimers();

  int epoll_fd_;
  absl::Time awake_until_ = absl::InfinitePast();
  std::unordered_map<int, Handler> handlers_;
  std::multimap<absl::Time, Handler> timers_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_EVENT_LOOP_H_
