#ifndef MUSTER_TESTS_UTIL_PROCESS_THREAD_LIMIT_H_
#define MUSTER_TESTS_UTIL_PROCESS_THREAD_LIMIT_H_

namespace muster::testing {

// Limits how many more threads this process can have at once. For each further thread,
// pthread_create() fails with EAGAIN, as at a container's pids limit. The kernel's limit of a
// user's threads would not do, since it does not bind root.
//
// At most one such object exists at a time. The test starts its own threads before it.
class ThreadLimit {
 public:
  enum class Of {
    // Only std::threads. gRPC's threads are none: it starts and ends them at any time, and goes on
    // without most of them.
    kStdThreads,
    // gRPC's threads too. It must not be in use yet: it does not survive the lack of some of them
    // (client/src/control_plane/grpc/grpc_threads.h).
    kAllThreads,
  };
  explicit ThreadLimit(int more, Of of = Of::kStdThreads);
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
