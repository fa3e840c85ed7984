#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_STARTED_CALLS_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_STARTED_CALLS_H_

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "client/src/base/deadline.h"
#include "muster/communicator.h"

namespace muster::internal {

// State shared by a PendingOperation and the thread that runs it.
struct StartedCall {
  const pid_t process = getpid();     // in a fork of it, the call never ends
  std::function<absl::Status()> run;  // null once it has run
  absl::Status status;                // valid once `ended`
  absl::Notification ended;
};

// A queue of the calls that Communicator::Start() begins. One thread, which the first call creates,
// runs them in order. Thread-safe.
class StartedCalls {
 public:
  StartedCalls() = default;
  ~StartedCalls() { Finish(); }
  StartedCalls(const StartedCalls&) = delete;
  StartedCalls& operator=(const StartedCalls&) = delete;

  // Waits for all started calls. Nothing can be started afterwards.
  void Finish();

  // Queues `run`. Does not block. An exception in `run` becomes INTERNAL. Returns
  // RESOURCE_EXHAUSTED, and never runs it, if the process cannot get a thread.
  absl::StatusOr<std::shared_ptr<StartedCall>> Start(std::function<absl::Status()> run);

  // Returns whether the caller is a started call.
  bool IsOwnThread() const;

  // Returns whether all started calls have ended.
  bool IsEmpty() const;
  // Blocks until all started calls have ended. Returns DEADLINE_EXCEEDED or CANCELLED, without a
  // text, if the deadline passes or the call is cancelled first.
  absl::Status AwaitAll(const Deadline& deadline) const;

 private:
  void Work();
  std::shared_ptr<StartedCall> Next();

  // Not an absl::Mutex, whose waits may take their time-outs from the wall clock.
  mutable std::mutex mutex_;  // guards all fields below
  mutable std::condition_variable changed_;
  std::deque<std::shared_ptr<StartedCall>> queue_;  // the first one is running
  bool stopping_ = false;
  std::thread thread_;
  std::thread::id own_thread_;
};

// Returns the status of `run`, or INTERNAL if it throws.
absl::Status RunStarted(const std::function<absl::Status()>& run);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_STARTED_CALLS_H_
