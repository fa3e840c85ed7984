#ifndef MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_
#define MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "muster/job.h"

// The jobs that this process has joined, and neither left nor destroyed. Thread-safe.
namespace muster::internal {

void AddLiveJob(Job* job);
// Says where the job was joined.
void NoteCoordinator(const Job* job, absl::string_view coordinator);
// OK to call again.
void RemoveLiveJob(Job* job);

// In the order in which they were joined.
std::vector<Job*> LiveJobs();

// What messages say of such a job.
struct LiveJob {
  std::string id;
  int rank = 0;
};
// A job that this process, and not one that it is a fork of, has joined at that coordinator: the
// one with that rank, if there are several.
std::optional<LiveJob> FindLiveJob(absl::string_view id, absl::string_view coordinator,
                                   std::optional<int> rank);
// Whether there is one of that name, anywhere.
bool IsLiveJob(absl::string_view id);
// Returns this process's only live job; nullopt if it has none or several.
std::optional<LiveJob> OnlyLiveJob();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_LIVE_JOBS_H_
