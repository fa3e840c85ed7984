#ifndef MUSTER_COMMON_WORKLOAD_H_
#define MUSTER_COMMON_WORKLOAD_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"

// What a cluster's own variables say, to daemon, launcher and SDK alike.
namespace muster {

// A variable's value; null where it is not set.
using GetVariable = absl::FunctionRef<const char*(const char* name)>;

// The name of one run of the job, where the cluster has one: "slurm-<job>-<restarts>". So a process
// that is left over from before a requeue is refused by the daemon of the run after it. Empty where
// there is none.
std::string WorkloadJob(GetVariable get);

// What this process is told of the node, or pod, that it runs in, and the variables that say so.
struct NodePlace {
  const char* node_rank_variable;
  std::string node_rank;
  const char* nodes_variable;
  std::string nodes;               // how many there are; empty: not told, or not fixed
  std::string processes_per_node;  // a number, or auto, cpu, gpu; empty: not told
  // Where the coordinator is to listen, "host:port"; empty: not told, or there is one node only.
  std::string coordinator;
};

// Kubeflow Trainer's torch plugin (PET_...), LeaderWorkerSet (LWS_...).
std::optional<NodePlace> FindNodePlace(GetVariable get);

}  // namespace muster

#endif  // MUSTER_COMMON_WORKLOAD_H_
