#ifndef MUSTER_CLIENT_NCCL_STOPPER_H_
#define MUSTER_CLIENT_NCCL_STOPPER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/nccl/handle.h"

namespace muster::internal {

// The live communicators of this process. Those that have ended are stopped all at once, each by a
// thread of its own (stop.h), so that none waits for another: NCCL may take for ever to stop one,
// and freeing one waits for the device, on which another one's kernel may hang until its flag is
// set.
//
// A further thread finds out which have ended. It never waits for NCCL, and exists only while there
// is something that it can do. A communicator that a thread is inside of for long is left until
// that thread comes out, which wakes the Stopper. Thread-safe.
class Stopper {
 public:
  static Stopper& Get();

  void Add(std::shared_ptr<NcclHandle> handle);
  void Remove(const NcclHandle* handle);

  // Some communicator has ended, or a thread has left one that had. Does not block.
  void Wake();

  // Waits until every communicator that has ended is stopped, but for those that have not stopped
  // within NcclHandle::kStopWait; false at the deadline.
  bool AwaitQuiet(SteadyTime deadline);

 private:
  using Handles = std::vector<std::shared_ptr<NcclHandle>>;

  // Whether there may be others now that nothing has been done about for a while.
  bool Erase(const NcclHandle* handle);
  void Work();
  // Those that have ended and are not stopped. If there are none, the thread is to end.
  Handles NextBatch();
  // Whether there is news since the last batch. If not, the thread is to end.
  bool GoOn();
  // Starts a thread for each.
  void StopAll(const Handles& seized);
  void Forget(uint64_t stop);
  bool IsQuiet() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When the first of those that are being stopped has taken too long.
  SteadyTime NextOverdue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  Handles live_ ABSL_GUARDED_BY(mutex_);
  uint64_t stops_ ABSL_GUARDED_BY(mutex_) = 0;  // so far
  // Those in progress, by their numbers, and when they are overdue.
  std::map<uint64_t, SteadyTime> stopping_ ABSL_GUARDED_BY(mutex_);
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;       // since the last batch was made up
  bool left_alone_ ABSL_GUARDED_BY(mutex_) = false;  // the last batch, by a thread that has ended
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STOPPER_H_
