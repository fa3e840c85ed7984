#ifndef MUSTER_CLIENT_CLI_RUN_LAUNCH_PLAN_H_
#define MUSTER_CLIENT_CLI_RUN_LAUNCH_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/launcher/plan/job_plan.h"
#include "common/process/cluster_variables.h"

namespace muster::cli {

// The flags of `muster run` as typed; unset if they were not given.
struct RunFlags {
  std::optional<std::string> nproc_per_node;
  std::optional<std::string> nnodes;
  std::optional<std::string> node_rank;
  std::optional<std::string> node_id;
  std::optional<std::string> coordinator;
  std::string coordinator_source = "--coordinator";  // the source of the address, for messages
  std::optional<std::string> job;
  std::optional<std::string> master_port;
  std::optional<std::string> log_dir;
  std::optional<std::string> debug_dir;
  std::optional<std::string> grace;
  std::optional<std::string> failure_wait;
  std::optional<std::string> musterd;
  std::optional<std::string> max_restarts;
  std::optional<std::string> restart;
  std::optional<std::string> min_world_size;
  std::optional<std::string> max_world_size;
  std::optional<std::string> settle;
  std::optional<std::string> metrics_listen;
  std::optional<std::string> pmi;
  std::optional<std::string> bind_to;
  std::optional<std::string> torch_store;
  CredentialFiles credentials;  // fields are empty if not given
  bool no_prefix = false;
  bool pty = false;
  bool no_pty = false;
  std::vector<std::string> program;  // the words after "--"
};

// The GPUs and cores of this machine, for --nproc-per-node.
struct Machine {
  int gpus = 0;
  int cpus = 1;
};

// Which output of the ranks goes through pseudo-terminals.
enum class PtyMode {
  kTerminals,  // only output that is shown on a terminal
  kAll,
  kNone,
};

// The validated plan of `muster run`.
struct LaunchPlan {
  launcher::JobPlan job;           // without the command that hosts a coordinator
  bool coordinator_given = false;  // false: the launcher hosts one
  std::string log_dir;             // empty: no log files
  std::string musterd;             // the path that the user gave; empty: search for it
  bool prefix = true;
  PtyMode pty = PtyMode::kTerminals;
  // For the hosted coordinator:
  std::string settle;               // as typed; empty: musterd's default
  std::optional<HostPort> metrics;  // unset: not served
  std::vector<std::string> program;
  std::string mpi_warning = {};  // for the user, if the program's MPI does not get its ranks
};

// Checks the flags and fills in the defaults. `generated_job` is the name of a standalone job
// without --job. INVALID_ARGUMENT names the flag, its value and what was expected.
absl::StatusOr<LaunchPlan> MakeLaunchPlan(const RunFlags& flags, const std::string& generated_job,
                                          const Machine& machine);

// Fills in the flags that were not given:
//   * the coordinator and the job, from MUSTER_COORDINATOR and MUSTER_JOB
//   * the place of this node, and the coordinator and the job if they are still open, from the
//     cluster's variables (common/process/cluster_variables.h)
//   * the metrics address of a hosted coordinator, from MUSTER_METRICS_LISTEN
// Does nothing if `muster run` is itself a rank's program, because the variables are the outer
// job's.
void FillFromEnvironment(GetVariable get, RunFlags* flags);

// Returns OK if the coordinator accepts `name` as a job or node id: 1 to 256 bytes of UTF-8 without
// control characters. INVALID_ARGUMENT names `flag`.
absl::Status CheckName(const std::string& flag, const std::string& name);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_LAUNCH_PLAN_H_
