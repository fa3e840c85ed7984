#ifndef MUSTER_CLIENT_LAUNCHER_PLAN_JOB_PLAN_H_
#define MUSTER_CLIENT_LAUNCHER_PLAN_JOB_PLAN_H_

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/plan/coordinator_process.h"
#include "common/credentials/credential_files.h"
#include "common/names/host_port.h"

namespace muster::launcher {

inline constexpr absl::Duration kDefaultGrace = absl::Seconds(10);
inline constexpr absl::Duration kDefaultFailureWait = absl::Seconds(5);

// Which processes are restarted when a rank fails.
enum class RestartScope {
  kRank,   // that rank
  kGroup,  // all ranks of the node
  kAuto,   // kGroup if the coordinator says that no process has joined the job, else kRank
};

// Which protocol gives MPI programs their ranks (docs/doors.md).
enum class Pmi {
  kOff,
  kPmi1,  // of MPICH and Intel MPI
  kPmix,  // of Open MPI
};

// The CPUs that each rank is bound to.
enum class BindTo {
  kNone,
  kCore,  // a core of its own
  kNuma,  // all cores of a NUMA node
};

// Where PyTorch programs find the job's store (docs/doors.md).
enum class TorchStore {
  kOff,       // rank 0 serves a store of its own
  kLoopback,  // in the launcher of each node, on the loopback interface
  kNode0,     // in the launcher of node 0, for all nodes
};

// The part of a job that runs on this node, after validation.
struct JobPlan {
  std::string job;
  int nproc_per_node = 1;
  int nnodes = 1;
  int node_rank = 0;
  // How many ranks each node has, if they differ. Empty: each has nproc_per_node.
  std::vector<int> ranks_of_nodes = {};
  std::string node_id;  // empty: each rank finds its own

  // Where the coordinator listens. If it is hosted here on a free port, the port is not known until
  // it listens.
  HostPort coordinator;
  std::optional<CoordinatorCommand> hosted;  // unset: another launcher or service hosts it
  // The port of what the program opens on rank 0. If unset, a free port, or MasterPort() if there
  // are several nodes.
  std::optional<int> master_port;
  // The credentials that this launcher and its ranks use. If the hosted coordinator has its own
  // token, they are set once it listens.
  CredentialFiles credentials;

  Pmi pmi = Pmi::kOff;
  std::string pmix_library = {};  // the path of libmuster_pmix.so, for Pmi::kPmix

  BindTo bind_to = BindTo::kNone;
  // The CPUs of each rank's processes, by local rank. Empty: they have the launcher's.
  std::vector<std::vector<int>> cpus = {};

  TorchStore torch_store = TorchStore::kOff;
  // Known when the ranks are started: the port of the store, and how often all ranks here were
  // started before. Each time, they find an empty store.
  int torch_port = 0;
  int torch_generation = 0;

  // The folder for this node's bundle when a hang is detected. If empty, none is written.
  std::string debug_dir;

  absl::Duration grace = kDefaultGrace;               // from the first signal to SIGKILL
  absl::Duration failure_wait = kDefaultFailureWait;  // from a failure to the first signal
  int max_restarts = 0;                               // on this node, of one rank or of all
  RestartScope restart = RestartScope::kRank;         // what a restart restarts
  int min_world_size = 1;                             // equal to the world size if not elastic
  int max_world_size = 1;

  // Returns whether the job survives the loss of a rank, by a restart or with fewer ranks.
  bool elastic() const {
    return max_restarts > 0 || min_world_size < world_size() || max_world_size > world_size();
  }
  // Returns how many ranks each node has.
  std::vector<int> RanksOfNodes() const {
    return ranks_of_nodes.empty() ? std::vector<int>(nnodes, nproc_per_node) : ranks_of_nodes;
  }
  int world_size() const {
    if (ranks_of_nodes.empty()) return nnodes * nproc_per_node;
    return std::accumulate(ranks_of_nodes.begin(), ranks_of_nodes.end(), 0);
  }
  int GlobalRank(int local_rank) const {
    if (ranks_of_nodes.empty()) return node_rank * nproc_per_node + local_rank;
    const auto first = ranks_of_nodes.begin();
    return std::accumulate(first, first + node_rank, 0) + local_rank;
  }
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PLAN_JOB_PLAN_H_
