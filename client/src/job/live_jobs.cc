#include "client/src/job/live_jobs.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace muster::internal {
namespace {

struct Entry {
  Job* job;
  std::string coordinator;
  pid_t process = 0;  // the process that joined; a fork inherits the entry, but is no member
};

struct Registry {
  absl::Mutex mutex;
  std::vector<Entry> entries ABSL_GUARDED_BY(mutex);
};

Registry& GetRegistry() {
  static Registry* registry = new Registry;  // never destroyed, because jobs may be static objects
  return *registry;
}

LiveJob Describe(const Job& job) { return LiveJob{job.id(), job.rank()}; }

}  // namespace

void AddLiveJob(Job* job) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  registry.entries.push_back({job, "", 0});
}

void NoteCoordinator(const Job* job, absl::string_view coordinator) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  for (Entry& entry : registry.entries) {
    if (entry.job != job) continue;
    entry.coordinator = std::string(coordinator);
    entry.process = getpid();
  }
}

void RemoveLiveJob(Job* job) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  registry.entries.erase(std::remove_if(registry.entries.begin(), registry.entries.end(),
                                        [job](const Entry& entry) { return entry.job == job; }),
                         registry.entries.end());
}

std::vector<Job*> LiveJobs() {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  std::vector<Job*> jobs;
  for (const Entry& entry : registry.entries) jobs.push_back(entry.job);
  return jobs;
}

// The functions below use the jobs under the lock. That is safe because a job leaves the registry
// before it is destroyed.

std::optional<LiveJob> FindLiveJob(absl::string_view id, absl::string_view coordinator,
                                   std::optional<int> rank) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  std::optional<LiveJob> found;
  for (const Entry& entry : registry.entries) {
    if (entry.process != getpid() || entry.coordinator != coordinator) continue;
    if (entry.job->id() != id) continue;
    if (!found || entry.job->rank() == rank) found = Describe(*entry.job);
  }
  return found;
}

bool IsLiveJob(absl::string_view id) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  return std::any_of(registry.entries.begin(), registry.entries.end(),
                     [id](const Entry& entry) { return entry.job->id() == id; });
}

std::optional<LiveJob> OnlyLiveJob() {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  if (registry.entries.size() != 1) return std::nullopt;
  return Describe(*registry.entries.front().job);
}

}  // namespace muster::internal
