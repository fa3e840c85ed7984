#ifndef MUSTER_CLIENT_CLI_LAUNCH_PLAN_H_
#define MUSTER_CLIENT_CLI_LAUNCH_PLAN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/launcher/job_plan.h"
#include "common/workload.h"

namespace muster::cli {

// The flags of `muster run` as they were typed; unset where they were not.
struct RunFlags {
  std::optional<std::string> nproc_per_node;
  std::optional<std::string> nnodes;
  std::optional<std::string> node_rank;
  std::optional<std::string> node_id;
  std::optional<std::string> coordinator;
  std::string coordinator_source = "--coordinator";  // how messages call who said it
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
  CredentialFiles credentials;  // empty where not typed
  bool no_prefix = false;
  bool pty = false;
  bool no_pty = false;
  std::vector<std::string> program;  // what follows "--"
};

// What the machine has, for --nproc-per-node.
struct Machine {
  int gpus = 0;
  int cpus = 1;
};

// Which of the ranks' output goes through pseudo-terminals.
enum class PtyUse {
  kTerminals,  // what is shown on a terminal
  kAll,
  kNone,
};

// What `muster run` is going to do, checked.
struct LaunchPlan {
  launcher::JobPlan job;           // without what it takes to host a coordinator
  bool coordinator_given = false;  // else the launcher hosts one
  std::string log_dir;             // empty: no log files
  std::string musterd;             // path given by the user; empty: look for it
  bool prefix = true;
  PtyUse pty = PtyUse::kTerminals;
  // Of the hosted coordinator.
  std::string settle;               // as typed; empty: musterd's default
  std::optional<HostPort> metrics;  // unset: nowhere
  std::vector<std::string> program;
};

// Checks the flags and fills in the defaults. A standalone job without --job is called
// `generated_job`. INVALID_ARGUMENT names the flag, what it holds and what was expected.
absl::StatusOr<LaunchPlan> MakeLaunchPlan(const RunFlags& flags, const std::string& generated_job,
                                          const Machine& machine);

// Fills in what no flag says: the coordinator and the job from MUSTER_COORDINATOR and MUSTER_JOB,
// of a coordinator of its own where its metrics are from MUSTER_METRICS_LISTEN,
// then the place of this node from what the cluster says (common/workload.h), and with a
// coordinator the name of the job. `muster run` as a rank's program is not asked: what stands
// around the rank is not its own.
void FillFromEnvironment(GetVariable get, RunFlags* flags);

// OK if `name` is what the coordinator takes as a job or node id: 1 to 256 bytes of UTF-8 without
// control characters. INVALID_ARGUMENT names `flag` otherwise.
absl::Status CheckName(const std::string& flag, const std::string& name);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_LAUNCH_PLAN_H_
