#ifndef MUSTER_COMMON_PROCESS_CLUSTER_VARIABLES_H_
#define MUSTER_COMMON_PROCESS_CLUSTER_VARIABLES_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"

// Facts about the job that a cluster's own variables hold, for daemon, launcher and SDK.
namespace muster {

// A function that returns a variable's value, or null if it is not set.
using GetVariable = absl::FunctionRef<const char*(const char* name)>;

// Returns a name for one run of the job, if the cluster has one: "slurm-<job>-<restarts>", else an
// empty text. After a requeue the name differs, so the new run's daemon rejects processes left over
// from before it.
std::string ClusterJobId(GetVariable get);

// A node's or pod's place in the job as the cluster states it, with the variables' names.
struct ClusterPlacement {
  const char* node_rank_variable;
  std::string node_rank;
  const char* nodes_variable;
  std::string nodes;               // number of nodes; empty if unknown or not fixed
  std::string processes_per_node;  // a number, or auto, cpu, gpu; empty if unknown
  // The address at which the coordinator is to listen, "host:port". Empty if unknown or there is
  // one node.
  std::string coordinator;
};

// Returns the place that Kubeflow Trainer's torch plugin (PET_...) or LeaderWorkerSet (LWS_...)
// states, or nullopt.
std::optional<ClusterPlacement> FindClusterPlacement(GetVariable get);

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_CLUSTER_VARIABLES_H_
