#ifndef MUSTER_CLIENT_CLI_LAUNCH_PLAN_H_
#define MUSTER_CLIENT_CLI_LAUNCH_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/host_port.h"

namespace muster::cli {

// The flags of `muster run` as they were typed; unset where they were not.
struct RunFlags {
  std::optional<std::string> nproc_per_node;
  std::optional<std::string> nnodes;
  std::optional<std::string> node_rank;
  std::optional<std::string> node_id;
  std::optional<std::string> coordinator;
  std::optional<std::string> job;
  std::optional<std::string> master_port;
  std::optional<std::string> log_dir;
  std::optional<std::string> grace;
  std::optional<std::string> failure_wait;
  std::optional<std::string> musterd;
  std::optional<std::string> max_restarts;
  std::optional<std::string> min_world_size;
  std::optional<std::string> max_world_size;
  std::optional<std::string> settle;
  bool no_prefix = false;
  std::vector<std::string> program;  // what follows "--"
};

inline constexpr char kDefaultGrace[] = "10s";
inline constexpr char kDefaultFailureWait[] = "2s";

// What `muster run` is going to do, checked.
struct LaunchPlan {
  int nproc_per_node = 1;
  int nnodes = 1;
  int node_rank = 0;
  std::string node_id;                  // empty: the ranks find their own
  std::optional<HostPort> coordinator;  // unset: the launcher starts one (standalone)
  std::string job;
  std::optional<int> master_port;  // unset: the coordinator's
  std::string log_dir;             // empty: no log files
  absl::Duration grace;            // between the first signal and SIGKILL
  absl::Duration failure_wait;     // between a rank's failure and the first signal
  std::string musterd;             // path given by the user; empty: look for it
  bool prefix = true;
  int max_restarts = 0;  // of all ranks of this node together
  // Of the coordinator that the launcher starts; equal to the world size where not given.
  int min_world_size = 1;
  int max_world_size = 1;
  std::string settle;  // as typed; empty: musterd's default
  std::vector<std::string> program;

  // The job outlives the loss of a rank: by a restart of it, or with fewer ranks.
  bool elastic() const {
    return max_restarts > 0 || min_world_size < world_size() || max_world_size > world_size();
  }
  int world_size() const { return nnodes * nproc_per_node; }
  int GlobalRank(int local_rank) const { return node_rank * nproc_per_node + local_rank; }
};

// Checks the flags and fills in the defaults. A standalone job without --job is called
// `generated_job`. INVALID_ARGUMENT names the flag, what it holds and what was expected.
absl::StatusOr<LaunchPlan> MakeLaunchPlan(const RunFlags& flags, const std::string& generated_job);

// OK if `name` is what the coordinator takes as a job or node id: 1 to 256 bytes of UTF-8 without
// control characters. INVALID_ARGUMENT names `flag` otherwise.
absl::Status CheckName(const std::string& flag, const std::string& name);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_LAUNCH_PLAN_H_
