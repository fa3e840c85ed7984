#include "client/src/job/live_jobs.h"

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster::internal {
namespace {

struct Registry {
  absl::Mutex mutex;
  std::vector<Job*> jobs ABSL_GUARDED_BY(mutex);
};

Registry& GetRegistry() {
  static Registry* registry = new Registry;  // never destroyed: jobs may be static objects
  return *registry;
}

}  // namespace

void AddLiveJob(Job* job) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  registry.jobs.push_back(job);
}

void RemoveLiveJob(Job* job) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  registry.jobs.erase(std::remove(registry.jobs.begin(), registry.jobs.end(), job),
                      registry.jobs.end());
}

std::vector<Job*> LiveJobs() {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  return registry.jobs;
}

}  // namespace muster::internal
