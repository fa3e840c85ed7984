#ifndef MUSTER_TESTS_UTIL_THREAD_LIMIT_H_
#define MUSTER_TESTS_UTIL_THREAD_LIMIT_H_

namespace muster::testing {

// Lets this process start so many more threads as std::thread. For each further one
// pthread_create() fails with EAGAIN, as at a container's pids limit. The kernel's limit of a
// user's threads would not do: it does not bind root. gRPC's threads are no std::thread and are not
// limited: gRPC goes on without them, but starts and ends them whenever it likes.
//
// There is at most one such object at a time. The test starts its own threads before.
class ThreadLimit {
 public:
  explicit ThreadLimit(int more);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

  // Ends the limit before the object goes.
  void Lift();

  // Whether a thread has been refused.
  bool reached() const;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_THREAD_LIMIT_H_
