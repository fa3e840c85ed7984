#ifndef MUSTER_CLIENT_LAUNCHER_BINDING_HWLOC_CORES_H_
#define MUSTER_CLIENT_LAUNCHER_BINDING_HWLOC_CORES_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/launcher/binding/node_layout.h"

namespace muster::launcher {

// Returns the cores and NUMA nodes that have CPUs of `usable`, with these CPUs only, as hwloc finds
// them. Loads libhwloc.so.15: muster is not linked with it, and distributions from 2020 on have it.
// UNAVAILABLE says what is missing. With `synthetic`, the machine is made up, for tests: "numa:2
// core:8 pu:2".
absl::StatusOr<NodeLayout> ReadCores(const Cpus& usable, const std::string& synthetic = "");

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_BINDING_HWLOC_CORES_H_
