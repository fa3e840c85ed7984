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

// One current job of the process, for programs that do not hand a Job around, and who this process
// is in it.
//
//   if (absl::Status joined = muster::toolkits::Initialize(); !joined.ok()) return Fail(joined);
//   muster::toolkits::CurrentJob().Barrier();
//   muster::toolkits::Finalize();
namespace muster {
namespace toolkits {

// Joins a job, which becomes the current one; errors as of Job::Join(). It waits for the others for
// options.timeout, 30 minutes by default. FAILED_PRECONDITION if there is a current job already.
//
// `backend` is the one with which the helpers connect the ranks
// (muster/toolkits/tensor_collectives.h); empty: MUSTER_BACKEND, else the best one. Before anything
// is sent: NOT_FOUND if the program does not link it, listing those that it does;
// FAILED_PRECONDITION if it cannot be used here, and why.
absl::Status Initialize(absl::StatusOr<JobOptions> options = JobOptions::FromEnvironment(),
                        absl::string_view backend = "");
// The same with options from the environment, and a default time-out for every waiting call.
absl::Status Initialize(absl::string_view backend,
                        std::optional<absl::Duration> timeout = std::nullopt);

// Makes the job that this process has joined last, by whatever means, the current one; without one
// that it has neither left nor destroyed: serial mode. The caller goes on owning the job.
void AdoptLatestJob();

// Leaves the current job, which blocks as Job::Leave() does, and returns to serial mode, also where
// leaving failed. A job that Initialize() has joined is destroyed.
absl::Status Finalize();

// The current job, or, where there is none, one of this process alone. The reference is good until
// Finalize(), or until the owner of the job destroys it.
Job& CurrentJob();

// Of the current job; without one as the environment says it (docs/environment.md), and empty where
// it does not.
std::optional<int> GetRank();
// The same; at last what SetLocalRank() has said.
std::optional<int> GetLocalRank();

// Of the current job; in serial mode 1, and node rank 0.
int GetWorldSize();
int GetNprocPerNode();
int GetNnodes();
int GetNodeRank();

// The name of this host.
std::string GetHostname();

// A hint for where the environment says nothing: GetLocalRank(), and JobOptions::FromEnvironment(),
// ask it last. INVALID_ARGUMENT: negative.
absl::Status SetLocalRank(int local_rank);

// False in serial mode.
inline bool IsDistributed(const Job& job) { return job.is_distributed(); }
// Rank 0; true in serial mode.
inline bool IsMainProcess(const Job& job) { return job.is_main(); }
inline bool IsLocalRankZero(const Job& job) { return job.local_rank() == 0; }

// "[rank: 3] message"; the message as it is where the rank is unknown.
std::string RankPrefixedMessage(absl::string_view message);

}  // namespace toolkits
}  // namespace muster

#endif  // MUSTER_TOOLKITS_CURRENT_JOB_H_
