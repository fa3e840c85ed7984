#ifndef MUSTER_CLIENT_NCCL_COMMUNICATOR_STOPPER_H_
#define MUSTER_CLIENT_NCCL_COMMUNICATOR_STOPPER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/nccl/communicator/handle.h"

namespace muster::internal {

// The live communicators of this process, and a thread that stops them after their end. It stops
// all ended ones at once, each on its own thread (stop.h), so that no stop waits for another. NCCL
// may take forever to stop one communicator. And freeing one waits for the device, on which another
// one's kernel may hang until its own flag is set.
//
// The Stopper's own thread finds out which communicators have ended. It starts before the first
// communicator is opened, so no communicator exists that could not be stopped. It sleeps while it
// can do nothing. If a thread stays inside a call on a communicator, the Stopper leaves that
// communicator alone until the thread comes out and calls Wake(). If the process cannot start a
// thread to stop a communicator, the Stopper's thread stops it itself; only then does it wait for
// NCCL. Thread-safe.
class Stopper {
 public:
  static Stopper& Get();

  // Starts the thread, which lives as long as the process. Call it before a communicator is opened.
  // RESOURCE_EXHAUSTED if the process cannot start a thread; call it again later. Does nothing once
  // it has succeeded.
  absl::Status Start();

  void Add(std::shared_ptr<NcclHandle> handle);
  void Remove(const NcclHandle* handle);

  // Tells the thread that a communicator has ended, or that a thread has left one that had. Does
  // not block.
  void Wake();

  // Blocks until every communicator that has ended is stopped. Ignores communicators that have not
  // stopped within NcclHandle::kStopWait. Returns false at the deadline.
  bool AwaitQuiet(SteadyTime deadline);

 private:
  using Handles = std::vector<std::shared_ptr<NcclHandle>>;
  class StopBarrier;

  // Removes a handle. Returns whether some ended communicator was left alone, as a thread was
  // inside it.
  bool Erase(const NcclHandle* handle);
  void Work();
  void AwaitWake();
  // Stops communicators that have ended until it can do nothing more.
  void StopBatches();
  // Returns the communicators that have ended and are not stopped. If there are none, the thread
  // goes to sleep.
  Handles NextBatch();
  // Returns whether there was a Wake() since the last batch. If not, the thread goes to sleep.
  bool WokenSinceBatch();
  // Starts one thread for each handle.
  void StopAll(const Handles& seized);
  // Registers a stop as in progress, and returns the function that its thread runs.
  std::function<void()> BeginStop(const std::shared_ptr<NcclHandle>& handle,
                                  const std::shared_ptr<StopBarrier>& start);
  void EndStop(uint64_t stop);
  bool IsQuiet() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns when the next stop in progress becomes overdue.
  SteadyTime NextOverdue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  Handles live_ ABSL_GUARDED_BY(mutex_);
  uint64_t stops_ ABSL_GUARDED_BY(mutex_) = 0;  // number of stops so far
  // The stops in progress, by their numbers, with the times when they become overdue.
  std::map<uint64_t, SteadyTime> stopping_ ABSL_GUARDED_BY(mutex_);
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;         // since the last batch was collected
  bool skipped_busy_ ABSL_GUARDED_BY(mutex_) = false;  // the last batch was busy
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_COMMUNICATOR_STOPPER_H_
