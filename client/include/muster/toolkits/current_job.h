#ifndef MUSTER_TOOLKITS_CURRENT_JOB_H_
#define MUSTER_TOOLKITS_CURRENT_JOB_H_

#include "muster/cxx17.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "muster/job.h"

// The current job of the process, and the process's place in it, for programs that do not pass a
// Job around:
//
//   absl::Status joined = muster::toolkits::Initialize();
//   if (!joined.ok()) return joined;
//   absl::Status met = muster::toolkits::CurrentJob().Barrier();
//   if (!met.ok()) return met;
//   return muster::toolkits::Finalize();
namespace muster {
namespace toolkits {

// Joins a job and makes it the current one. Blocks until all members have joined, for at most
// JobOptions::timeout, 30 minutes by default. `backend` is the data plane that the helpers connect
// the ranks with (muster/toolkits/tensor_collectives.h). Empty: MUSTER_BACKEND, or else the best
// one. Errors as in Job::Join(), and, before anything is sent,
//   FAILED_PRECONDITION  the process has a current job already, or the backend is not usable here;
//   NOT_FOUND            the program does not link the backend; lists the linked ones.
absl::Status Initialize(absl::StatusOr<JobOptions> options = JobOptions::FromEnvironment(),
                        absl::string_view backend = "");
// Does the same with the options of the environment and a default time-out for all calls that wait.
absl::Status Initialize(absl::string_view backend,
                        std::optional<absl::Duration> timeout = std::nullopt);

// Makes the job that this process joined last the current one. The caller keeps the ownership. If
// the process has left or destroyed all its jobs, the current job is the serial one.
void AdoptLatestJob();

// Leaves the current job, which blocks as Job::Leave() does, and returns to serial mode, even if
// leaving fails. Destroys the job if Initialize() has joined it.
absl::Status Finalize();

// Returns the current job, or a serial job of this process if there is none. The reference is valid
// until Finalize(), or until the owner of the job destroys it.
Job& CurrentJob();

// Returns the rank in the current job. Without a current job, returns the rank of the environment
// (docs/environment.md), or nullopt.
std::optional<int> GetRank();
// Returns the local rank in the same way; if nothing else gives it, the value of SetLocalRank().
std::optional<int> GetLocalRank();

// Return numbers of the current job. In serial mode they are 1, and the node rank is 0.
int GetWorldSize();
int GetNprocPerNode();
int GetNnodes();
int GetNodeRank();

// Returns the name of this host.
std::string GetHostname();

// Sets the local rank that GetLocalRank() and JobOptions::FromEnvironment() use if the environment
// gives none. INVALID_ARGUMENT: it is negative.
absl::Status SetLocalRank(int local_rank);

// Returns false in serial mode.
inline bool IsDistributed(const Job& job) { return job.is_distributed(); }
// Returns whether this process is rank 0. True in serial mode.
inline bool IsMainProcess(const Job& job) { return job.is_main(); }
inline bool IsLocalRankZero(const Job& job) { return job.local_rank() == 0; }

// Returns "[rank: 3] message", or the message alone if the rank is unknown.
std::string RankPrefixedMessage(absl::string_view message);

}  // namespace toolkits
}  // namespace muster

#endif  // MUSTER_TOOLKITS_CURRENT_JOB_H_
