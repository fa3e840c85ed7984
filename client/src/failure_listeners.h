#ifndef MUSTER_CLIENT_SRC_FAILURE_LISTENERS_H_
#define MUSTER_CLIENT_SRC_FAILURE_LISTENERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "muster/group.h"

namespace muster::internal {

// Those who want to know when the job breaks. Thread-safe. A subscription may outlive the job.
class FailureListeners : public std::enable_shared_from_this<FailureListeners> {
 public:
  using Callback = std::function<void(const absl::Status&)>;

  // Runs `callback` at Notify(), or at once, in this thread, if that has happened.
  Subscription Add(Callback callback);

  // Runs every callback once, in this thread and without a lock. Call it once.
  void Notify(const absl::Status& failure);

 private:
  void Remove(int64_t number);
  // The next callback to run, which is then `running_`; nullopt if there is none.
  std::optional<Callback> TakeNext();
  void Finished();

  absl::Mutex mutex_;
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<absl::Status> failure_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Callback> callbacks_ ABSL_GUARDED_BY(mutex_);
  std::optional<int64_t> running_ ABSL_GUARDED_BY(mutex_);
  std::thread::id runner_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_FAILURE_LISTENERS_H_
