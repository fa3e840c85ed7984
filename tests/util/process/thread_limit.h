#ifndef MUSTER_TESTS_UTIL_PROCESS_THREAD_LIMIT_H_
#define MUSTER_TESTS_UTIL_PROCESS_THREAD_LIMIT_H_

namespace muster::testing {

// Limits how many more std::threads this process can start. For each further thread,
// pthread_create() fails with EAGAIN, as at a container's pids limit. The kernel's limit of a
// user's threads would not do, since it does not bind root. gRPC's threads are not std::threads and
// are not limited: gRPC works without them, but starts and ends them at any time.
//
// At most one such object exists at a time. The test starts its own threads before it.
class ThreadLimit {
 public:
  explicit ThreadLimit(int more);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

  // Ends the limit early.
  void Lift();

  // Returns whether a thread has been refused.
  bool reached() const;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_THREAD_LIMIT_H_
