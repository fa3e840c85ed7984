#ifndef MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_
#define MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_

#include <vector>

#include "muster/job.h"

// The jobs that this process has joined, and neither left nor destroyed. Thread-safe.
namespace muster::internal {

void AddLiveJob(Job* job);
// OK to call again.
void RemoveLiveJob(Job* job);

// In the order in which they were joined.
std::vector<Job*> LiveJobs();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_
