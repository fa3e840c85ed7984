#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_GPU_COUNT_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_GPU_COUNT_H_

#include <optional>
#include <string>

namespace muster::launcher {

// Returns how many GPUs this process may use. Counts the entries of `visible_devices`
// (CUDA_VISIBLE_DEVICES) up to the first one that CUDA would ignore. If it is unset, or there are
// no GPUs, counts the device files nvidia0, nvidia1, ... in `device_folder`. Does not use CUDA,
// which must not start before a fork.
int CountGpus(const std::optional<std::string>& visible_devices, const std::string& device_folder);

// Returns the same for this process, from CUDA_VISIBLE_DEVICES and /dev.
int CountOwnGpus();

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_GPU_COUNT_H_
