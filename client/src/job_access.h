#ifndef MUSTER_CLIENT_SRC_JOB_ACCESS_H_
#define MUSTER_CLIENT_SRC_JOB_ACCESS_H_

#include <atomic>

#include "muster/job.h"

namespace muster::internal {

// What the helpers may touch of a Job beyond its public side.
struct JobAccess {
  static std::atomic<int>& BlockPreventions(Job& job) { return job.block_preventions_; }
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_ACCESS_H_
