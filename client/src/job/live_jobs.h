#ifndef MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_
#define MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "muster/job.h"

// The jobs that this process has joined, and has neither left nor destroyed. Thread-safe.
namespace muster::internal {

void AddLiveJob(Job* job);
// Notes where the job was joined.
void NoteCoordinator(const Job* job, absl::string_view coordinator);
// Removes the job. May be called twice.
void RemoveLiveJob(Job* job);

// Returns the jobs in the order in which they were joined.
std::vector<Job*> LiveJobs();

// The facts that messages tell about such a job.
struct LiveJob {
  std::string id;
  int rank = 0;
};
// Returns a job that this very process, not its parent, has joined at that coordinator. If there
// are several, prefers the one with this rank.
std::optional<LiveJob> FindLiveJob(absl::string_view id, absl::string_view coordinator,
                                   std::optional<int> rank);
// Returns whether there is a job of this name at any coordinator.
bool IsLiveJob(absl::string_view id);
// Returns the only job, or nullopt if there are none or several.
std::optional<LiveJob> OnlyLiveJob();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_
