#ifndef MUSTER_CLIENT_SRC_JOB_JOB_ACCESS_H_
#define MUSTER_CLIENT_SRC_JOB_JOB_ACCESS_H_

#include <memory>

#include "absl/synchronization/mutex.h"
#include "client/src/group/block_preventions.h"
#include "muster/job.h"

namespace muster::internal {

// Access for the SDK's helpers to what Job keeps private.
struct JobAccess {
  static const std::shared_ptr<internal::BlockPreventions>& BlockPreventions(const Job& job) {
    return job.block_preventions_;
  }

  // Returns the helpers' state in this job, and creates it at the first call. T must be the same in
  // every call. The job destroys it before its other fields. Any thread may call this.
  template <class T>
  static std::shared_ptr<T> Helpers(const Job& job) {
    absl::MutexLock lock(&job.mutex_);
    if (job.helpers_ == nullptr) job.helpers_ = std::make_shared<T>();
    return std::static_pointer_cast<T>(job.helpers_);
  }
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_JOB_ACCESS_H_
