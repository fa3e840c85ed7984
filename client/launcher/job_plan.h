#ifndef MUSTER_CLIENT_LAUNCHER_JOB_PLAN_H_
#define MUSTER_CLIENT_LAUNCHER_JOB_PLAN_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "client/launcher/coordinator_process.h"
#include "common/credential_files.h"
#include "common/host_port.h"

namespace muster::launcher {

inline constexpr absl::Duration kDefaultGrace = absl::Seconds(10);
inline constexpr absl::Duration kDefaultFailureWait = absl::Seconds(5);

// Which processes are started again when a rank fails.
enum class RestartScope {
  kRank,   // that rank
  kGroup,  // all ranks of the node
  kAuto,   // kGroup while no process of the job has joined it, else kRank
};

// The part of a job that runs on this node, checked.
struct JobPlan {
  std::string job;
  int nproc_per_node = 1;
  int nnodes = 1;
  int node_rank = 0;
  std::string node_id;  // empty: the ranks find their own

  // Where the coordinator listens; unknown until it does where it is hosted here on a free port.
  HostPort coordinator;
  std::optional<CoordinatorCommand> hosted;  // unset: somebody else hosts it
  // For what the program opens at rank 0. Unset: a free one, or with several nodes MasterPort()'s.
  std::optional<int> master_port;
  // What this launcher and its ranks show the coordinator; of one that has a token of its own,
  // known when it listens.
  CredentialFiles credentials;

  // Where this node's part of the bundle of a hang goes by itself; empty: nowhere.
  std::string debug_dir;

  absl::Duration grace = kDefaultGrace;               // from the first signal to SIGKILL
  absl::Duration failure_wait = kDefaultFailureWait;  // from a failure to the first signal
  int max_restarts = 0;                               // on this node, of one rank or of all
  RestartScope restart = RestartScope::kRank;         // which of them
  int min_world_size = 1;                             // equal to the world size where not elastic
  int max_world_size = 1;

  // The job outlives the loss of a rank: by a restart of it, or with fewer ranks.
  bool elastic() const {
    return max_restarts > 0 || min_world_size < world_size() || max_world_size > world_size();
  }
  int world_size() const { return nnodes * nproc_per_node; }
  int GlobalRank(int local_rank) const { return node_rank * nproc_per_node + local_rank; }
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_JOB_PLAN_H_
