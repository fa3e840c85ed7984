#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_STARTED_CALLS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_STARTED_CALLS_H_

#include <unistd.h>

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/src/base/deadline.h"
#include "muster/communicator.h"

namespace muster::internal {

// What a PendingOperation shares with the thread that works on it.
struct StartedCall {
  const pid_t process = getpid();     // elsewhere it never ends
  std::function<absl::Status()> run;  // null once it has run
  absl::Status status;                // once it has ended
  absl::Notification ended;
};

// Runs what Communicator::Start() begins, in that order, on a thread of its own, which exists from
// the first one on. Thread-safe.
class StartedCalls {
 public:
  StartedCalls() = default;
  ~StartedCalls() { Finish(); }
  StartedCalls(const StartedCalls&) = delete;
  StartedCalls& operator=(const StartedCalls&) = delete;

  // Waits for all that was started. Nothing is started afterwards.
  void Finish();

  // Does not block. An exception in `run` becomes INTERNAL. RESOURCE_EXHAUSTED if there is no
  // thread for it; then `run` never runs.
  absl::StatusOr<std::shared_ptr<StartedCall>> Start(std::function<absl::Status()> run);

  // Whether the caller is `run` of a started call.
  bool IsOwnThread() const;

  // Whether all that was started has ended.
  bool IsEmpty() const;
  // Blocks until all that was started has ended. DEADLINE_EXCEEDED or CANCELLED, without a text, if
  // the deadline says so before that.
  absl::Status AwaitAll(const Deadline& deadline) const;

 private:
  void Work();
  std::shared_ptr<StartedCall> Next();

  mutable absl::Mutex mutex_;
  std::deque<std::shared_ptr<StartedCall>> queue_ ABSL_GUARDED_BY(mutex_);  // the first one runs
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
  std::thread::id own_thread_ ABSL_GUARDED_BY(mutex_);
};

// The status of `run`; INTERNAL if it throws.
absl::Status RunStarted(const std::function<absl::Status()>& run);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_STARTED_CALLS_H_
