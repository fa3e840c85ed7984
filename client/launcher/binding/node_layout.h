#ifndef MUSTER_CLIENT_LAUNCHER_BINDING_NODE_LAYOUT_H_
#define MUSTER_CLIENT_LAUNCHER_BINDING_NODE_LAYOUT_H_

#include <vector>

namespace muster::launcher {

// CPUs by the kernel's numbers, ascending. A CPU is a hardware thread.
using Cpus = std::vector<int>;

struct Core {
  Cpus cpus;     // its hardware threads that this process may use; not empty
  int numa = 0;  // the index of its NUMA node
};

// The part of a machine that this process may use.
struct NodeLayout {
  std::vector<Core> cores;  // in hwloc's order: neighbours share caches
  std::vector<Cpus> numa_nodes;
  // The CPUs near each GPU, in the order in which CUDA numbers the GPUs. Empty if NVML finds none.
  // May have CPUs that this process may not use.
  std::vector<Cpus> gpus;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_BINDING_NODE_LAYOUT_H_
