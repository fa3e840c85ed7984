#ifndef MUSTER_CLIENT_NCCL_STOPPER_H_
#define MUSTER_CLIENT_NCCL_STOPPER_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/nccl/handle.h"

namespace muster::internal {

// The live communicators of this process, and the thread that stops those that have ended: all of
// them before any is freed, since freeing waits for the device, on which another one may hang.
//
// The thread exists only while there is something that it can stop. A communicator that a thread is
// inside of for long is left until that thread comes out, which wakes the Stopper. Thread-safe.
class Stopper {
 public:
  static Stopper& Get();

  void Add(std::shared_ptr<NcclHandle> handle);
  void Remove(const NcclHandle* handle);

  // Some communicator has ended, or a thread has left one that had. Does not block.
  void Wake();

  // Waits until every communicator that has ended is stopped; false at the deadline.
  bool AwaitQuiet(SteadyTime deadline);

 private:
  // Whether there may be others now that nothing has been done about for a while.
  bool Erase(const NcclHandle* handle);
  void Work();
  // Those that have ended and are not stopped. If there are none, the thread is to end.
  std::vector<std::shared_ptr<NcclHandle>> NextBatch();
  // Whether there is news since the last batch. If not, the thread is to end.
  bool GoOn();

  absl::Mutex mutex_;
  std::vector<std::shared_ptr<NcclHandle>> live_ ABSL_GUARDED_BY(mutex_);
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;       // since the last batch was made up
  bool left_alone_ ABSL_GUARDED_BY(mutex_) = false;  // the last batch, by a thread that has ended
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STOPPER_H_
