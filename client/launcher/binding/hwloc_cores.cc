#include "client/launcher/binding/hwloc_cores.h"

#include <dlfcn.h>
#include <hwloc.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::launcher {
namespace {

constexpr char kLibrary[] = "libhwloc.so.15";
constexpr unsigned kMajorVersion = 2;

// The functions of hwloc that this file uses.
struct Hwloc {
  decltype(&hwloc_get_api_version) get_api_version;
  decltype(&hwloc_topology_init) topology_init;
  decltype(&hwloc_topology_set_synthetic) topology_set_synthetic;
  decltype(&hwloc_topology_load) topology_load;
  decltype(&hwloc_topology_destroy) topology_destroy;
  decltype(&hwloc_get_type_depth) get_type_depth;
  decltype(&hwloc_get_nbobjs_by_depth) get_nbobjs_by_depth;
  decltype(&hwloc_get_obj_by_depth) get_obj_by_depth;
  decltype(&hwloc_bitmap_next) bitmap_next;
};

template <class Function>
bool Load(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// Loads the library, which stays loaded.
absl::StatusOr<Hwloc> LoadHwloc() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::UnavailableError(
        absl::StrCat(dlerror(), "; install hwloc (Debian's package libhwloc15)"));
  }
  Hwloc out;
  const bool complete =
      Load(library, "hwloc_get_api_version", &out.get_api_version) &&
      Load(library, "hwloc_topology_init", &out.topology_init) &&
      Load(library, "hwloc_topology_set_synthetic", &out.topology_set_synthetic) &&
      Load(library, "hwloc_topology_load", &out.topology_load) &&
      Load(library, "hwloc_topology_destroy", &out.topology_destroy) &&
      Load(library, "hwloc_get_type_depth", &out.get_type_depth) &&
      Load(library, "hwloc_get_nbobjs_by_depth", &out.get_nbobjs_by_depth) &&
      Load(library, "hwloc_get_obj_by_depth", &out.get_obj_by_depth) &&
      Load(library, "hwloc_bitmap_next", &out.bitmap_next);
  // The layout of hwloc_obj depends on the major version only.
  if (complete && out.get_api_version() >> 16 == kMajorVersion) return out;
  return absl::UnavailableError(absl::StrCat(kLibrary, " is not hwloc ", kMajorVersion));
}

// A topology that is loaded.
class Topology {
 public:
  Topology(const Hwloc& hwloc, hwloc_topology_t topology, Cpus usable)
      : hwloc_(hwloc), topology_(topology), usable_(std::move(usable)) {}

  // Returns the usable CPUs of each object of a type, in hwloc's order. Leaves out objects without
  // one.
  std::vector<Cpus> SetsOf(hwloc_obj_type_t type) const {
    std::vector<Cpus> sets;
    const int depth = hwloc_.get_type_depth(topology_, type);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return sets;
    const unsigned count = hwloc_.get_nbobjs_by_depth(topology_, depth);
    for (unsigned i = 0; i < count; ++i) {
      Cpus cpus = UsableIn(hwloc_.get_obj_by_depth(topology_, depth, i)->cpuset);
      if (!cpus.empty()) sets.push_back(std::move(cpus));
    }
    return sets;
  }

 private:
  Cpus UsableIn(hwloc_const_cpuset_t set) const {
    Cpus cpus;
    for (int cpu = hwloc_.bitmap_next(set, -1); cpu >= 0; cpu = hwloc_.bitmap_next(set, cpu)) {
      if (std::binary_search(usable_.begin(), usable_.end(), cpu)) cpus.push_back(cpu);
    }
    return cpus;
  }

  const Hwloc& hwloc_;
  const hwloc_topology_t topology_;
  const Cpus usable_;
};

// Returns the index of the smallest NUMA node with the CPU, or -1. Memory that is attached to a
// whole package, such as HBM, is a NUMA node beside the smaller ones.
int NumaNodeOf(int cpu, const std::vector<Cpus>& nodes) {
  int found = -1;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const bool has = std::binary_search(nodes[i].begin(), nodes[i].end(), cpu);
    if (!has || (found >= 0 && nodes[i].size() >= nodes[static_cast<size_t>(found)].size())) {
      continue;
    }
    found = static_cast<int>(i);
  }
  return found;
}

NodeLayout LayoutOf(const Topology& topology, const Cpus& usable) {
  NodeLayout layout;
  std::vector<Cpus> cores = topology.SetsOf(HWLOC_OBJ_CORE);
  if (cores.empty()) cores = topology.SetsOf(HWLOC_OBJ_PU);  // some virtual machines have no cores
  layout.numa_nodes = topology.SetsOf(HWLOC_OBJ_NUMANODE);
  for (Cpus& cpus : cores) {
    int numa = NumaNodeOf(cpus.front(), layout.numa_nodes);
    if (numa < 0) {
      numa = static_cast<int>(layout.numa_nodes.size());
      layout.numa_nodes.push_back(usable);
    }
    layout.cores.push_back({std::move(cpus), numa});
  }
  return layout;
}

}  // namespace

absl::StatusOr<NodeLayout> ReadCores(const Cpus& usable, const std::string& synthetic) {
  const absl::StatusOr<Hwloc> hwloc = LoadHwloc();
  if (!hwloc.ok()) return hwloc.status();
  hwloc_topology_t topology = nullptr;
  if (hwloc->topology_init(&topology) != 0) return absl::UnavailableError("hwloc cannot start");
  const absl::Cleanup destroy = [&] { hwloc->topology_destroy(topology); };
  if (!synthetic.empty() && hwloc->topology_set_synthetic(topology, synthetic.c_str()) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("no synthetic topology: ", synthetic));
  }
  if (hwloc->topology_load(topology) != 0) {
    return absl::UnavailableError("hwloc cannot read the machine's topology");
  }
  NodeLayout layout = LayoutOf(Topology(*hwloc, topology, usable), usable);
  if (!layout.cores.empty()) return layout;
  return absl::UnavailableError("hwloc finds no CPU that this process may use");
}

}  // namespace muster::launcher
