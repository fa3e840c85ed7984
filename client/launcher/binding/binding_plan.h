#ifndef MUSTER_CLIENT_LAUNCHER_BINDING_BINDING_PLAN_H_
#define MUSTER_CLIENT_LAUNCHER_BINDING_BINDING_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/launcher/binding/node_layout.h"

namespace muster::launcher {

// Both functions return the CPUs of each rank, by local rank. They spread the ranks evenly over the
// cores, in hwloc's order, so that neighbouring ranks are neighbours. A rank whose GPU is known
// gets cores near it. Local rank R uses GPU R, or, with fewer GPUs than ranks, R modulo their
// number.

// Returns a whole core for each rank, with all its hardware threads. No core is for two ranks. A
// rank gets a core far from its GPU only if other ranks have all near ones. `taken` counts the
// cores that other runs have, and that `layout` leaves out. If there are too few cores,
// returns INVALID_ARGUMENT, or FAILED_PRECONDITION if there were enough without the other runs'.
absl::StatusOr<std::vector<Cpus>> BindToCores(const NodeLayout& layout, int ranks, int taken);

// Returns all CPUs of a NUMA node for each rank. Several ranks may share the node. `layout` must
// have a core.
std::vector<Cpus> BindToNumaNodes(const NodeLayout& layout, int ranks);

// Returns a text for the user: "rank 0 to CPUs 0-7; rank 1 to CPUs 8-15". Ranks are numbered from
// `first_rank`.
std::string DescribeBinding(const std::vector<Cpus>& cpus, int first_rank);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_BINDING_BINDING_PLAN_H_
