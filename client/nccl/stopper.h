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
// The thread exists only while there is something to stop. Thread-safe.
class Stopper {
 public:
  static Stopper& Get();

  void Add(std::shared_ptr<NcclHandle> handle);
  void Remove(const NcclHandle* handle);

  // Some communicator has ended. Does not block.
  void Wake();

  // Waits until every communicator that has ended is stopped; false at the deadline.
  bool AwaitQuiet(SteadyTime deadline);

 private:
  void Work();
  // Those that have ended and are not stopped. If there are none, the thread is to end.
  std::vector<std::shared_ptr<NcclHandle>> NextBatch();

  absl::Mutex mutex_;
  std::vector<std::shared_ptr<NcclHandle>> live_ ABSL_GUARDED_BY(mutex_);
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STOPPER_H_
