#ifndef MUSTER_CLIENT_NCCL_STOPPER_H_
#define MUSTER_CLIENT_NCCL_STOPPER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/nccl/handle.h"

namespace muster::internal {

// The live communicators of this process. Those that have ended are stopped all at once, each by a
// thread of its own (stop.h), so that none waits for another: NCCL may take for ever to stop one,
// and freeing one waits for the device, on which another one's kernel may hang until its flag is
// set.
//
// A further thread finds out which have ended. It starts before the first communicator is opened,
// so that none is opened that could not be stopped, and sleeps while there is nothing that it can
// do. A communicator that a thread is inside of for long is left until that thread comes out, which
// wakes the Stopper. Where the process gets no thread for stopping a communicator, this one stops
// it: only then does it wait for NCCL. Thread-safe.
class Stopper {
 public:
  static Stopper& Get();

  // Starts the thread, which lives as long as the process; call it before a communicator is opened.
  // RESOURCE_EXHAUSTED if the process gets no thread; then call it again. Once it has succeeded it
  // does nothing.
  absl::Status Start();

  void Add(std::shared_ptr<NcclHandle> handle);
  void Remove(const NcclHandle* handle);

  // Some communicator has ended, or a thread has left one that had. Does not block.
  void Wake();

  // Waits until every communicator that has ended is stopped, but for those that have not stopped
  // within NcclHandle::kStopWait; false at the deadline.
  bool AwaitQuiet(SteadyTime deadline);

 private:
  using Handles = std::vector<std::shared_ptr<NcclHandle>>;
  class StartLine;

  // Whether there may be others now that nothing has been done about for a while.
  bool Erase(const NcclHandle* handle);
  void Work();
  void AwaitWake();
  // Stops what has ended, until there is nothing more that it can do.
  void StopBatches();
  // Those that have ended and are not stopped. If there are none, the thread is to sleep.
  Handles NextBatch();
  // Whether there is news since the last batch. If not, the thread is to sleep.
  bool GoOn();
  // Starts a thread for each.
  void StopAll(const Handles& seized);
  // What a thread does to stop it, which is in progress from now on.
  std::function<void()> BeginStop(const std::shared_ptr<NcclHandle>& handle,
                                  const std::shared_ptr<StartLine>& start);
  void Forget(uint64_t stop);
  bool IsQuiet() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When the first of those that are being stopped has taken too long.
  SteadyTime NextOverdue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  Handles live_ ABSL_GUARDED_BY(mutex_);
  uint64_t stops_ ABSL_GUARDED_BY(mutex_) = 0;  // so far
  // Those in progress, by their numbers, and when they are overdue.
  std::map<uint64_t, SteadyTime> stopping_ ABSL_GUARDED_BY(mutex_);
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;       // since the last batch was made up
  bool left_alone_ ABSL_GUARDED_BY(mutex_) = false;  // the last batch, by a thread that sleeps now
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STOPPER_H_
