#include "muster/toolkits/current_job.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/src/environment/identity.h"
#include "client/src/environment/process_placement.h"
#include "client/src/job/live_jobs.h"
#include "client/src/toolkits/job_communicator.h"

namespace muster::toolkits {
namespace {

struct Current {
  absl::Mutex mutex;
  Job* job ABSL_GUARDED_BY(mutex) = nullptr;
  std::unique_ptr<Job> owned ABSL_GUARDED_BY(mutex);
};

Current& GetCurrent() {
  // Never destroyed, because programs may use it until they end.
  static Current* current = new Current;
  return *current;
}

Job& SerialJob() {
  static Job* job = Job::Join(JobOptions()).value().release();
  return *job;
}

// Returns null in serial mode, and if the job's owner has left or destroyed it.
Job* FindCurrent(Current& current) ABSL_EXCLUSIVE_LOCKS_REQUIRED(current.mutex) {
  const std::vector<Job*> live = internal::LiveJobs();
  const bool there = std::find(live.begin(), live.end(), current.job) != live.end();
  return there ? current.job : nullptr;
}

Job* FindCurrent() {
  Current& current = GetCurrent();
  absl::MutexLock lock(&current.mutex);
  return FindCurrent(current);
}

absl::Status AlreadyInitialized(const Job& job) {
  return absl::FailedPreconditionError(
      absl::StrCat("rank ", job.rank(), " of job '", job.id(),
                   "' is this process's current job already; call Finalize() before Initialize()"));
}

}  // namespace

absl::Status Initialize(absl::StatusOr<JobOptions> options, absl::string_view backend) {
  if (const Job* job = FindCurrent(); job != nullptr) return AlreadyInitialized(*job);
  if (!backend.empty()) {
    absl::Status known = internal::ChooseJobBackend(backend).status();
    if (!known.ok()) return known;
  }
  absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(std::move(options));
  if (!job.ok()) return job.status();
  internal::JobCommunicator::Of(**job)->set_backend(backend);
  Current& current = GetCurrent();
  absl::MutexLock lock(&current.mutex);
  if (const Job* other = FindCurrent(current); other != nullptr) return AlreadyInitialized(*other);
  current.owned = *std::move(job);
  current.job = current.owned.get();
  return absl::OkStatus();
}

absl::Status Initialize(absl::string_view backend, std::optional<absl::Duration> timeout) {
  absl::StatusOr<JobOptions> options = JobOptions::FromEnvironment();
  if (options.ok() && timeout) options->timeout = *timeout;
  return Initialize(std::move(options), backend);
}

void AdoptLatestJob() {
  const Job* const serial = &SerialJob();
  Current& current = GetCurrent();
  absl::MutexLock lock(&current.mutex);
  current.job = nullptr;
  for (Job* job : internal::LiveJobs()) {
    if (job != serial) current.job = job;
  }
}

absl::Status Finalize() {
  Job* const job = FindCurrent();
  const absl::Status left = job == nullptr ? absl::OkStatus() : job->Leave();
  Current& current = GetCurrent();
  std::unique_ptr<Job> owned;
  absl::MutexLock lock(&current.mutex);
  current.job = nullptr;
  owned = std::move(current.owned);
  return left;
}

Job& CurrentJob() {
  Job* const job = FindCurrent();
  return job == nullptr ? SerialJob() : *job;
}

std::optional<int> GetRank() {
  const Job* const job = FindCurrent();
  return job == nullptr ? internal::RankFromEnvironment() : job->rank();
}

std::optional<int> GetLocalRank() {
  if (const Job* job = FindCurrent(); job != nullptr) return job->local_rank();
  const std::optional<int> told = internal::LocalRankFromEnvironment();
  return told ? told : internal::HintedLocalRank();
}

int GetWorldSize() { return CurrentJob().world_size(); }
int GetNprocPerNode() { return CurrentJob().local_world_size(); }
int GetNnodes() { return CurrentJob().num_nodes(); }
int GetNodeRank() { return CurrentJob().node_rank(); }
std::string GetHostname() { return internal::Hostname(); }

absl::Status SetLocalRank(int local_rank) {
  if (local_rank < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("SetLocalRank(", local_rank, "): expected a rank of at least 0"));
  }
  internal::HintLocalRank(local_rank);
  return absl::OkStatus();
}

std::string RankPrefixedMessage(absl::string_view message) {
  const std::optional<int> rank = GetRank();
  return rank ? absl::StrCat("[rank: ", *rank, "] ", message) : std::string(message);
}

}  // namespace muster::toolkits
