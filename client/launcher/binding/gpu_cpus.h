#ifndef MUSTER_CLIENT_LAUNCHER_BINDING_GPU_CPUS_H_
#define MUSTER_CLIENT_LAUNCHER_BINDING_GPU_CPUS_H_

#include <optional>
#include <string>
#include <vector>

#include "client/launcher/binding/node_layout.h"

namespace muster::launcher {

// Returns the CPUs near each GPU, as NVML says. Takes the GPUs of `visible_devices`
// (CUDA_VISIBLE_DEVICES: numbers or UUIDs) up to the first one that NVML does not know, or all GPUs
// if it is unset. Empty without NVML, which comes with NVIDIA's driver. NVML numbers GPUs by their
// place on the PCI bus, as CUDA does with CUDA_DEVICE_ORDER=PCI_BUS_ID, and where all GPUs are of
// one kind.
std::vector<Cpus> CpusNearGpus(const std::optional<std::string>& visible_devices);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_BINDING_GPU_CPUS_H_
