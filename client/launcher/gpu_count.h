#ifndef MUSTER_CLIENT_LAUNCHER_GPU_COUNT_H_
#define MUSTER_CLIENT_LAUNCHER_GPU_COUNT_H_

#include <optional>
#include <string>

namespace muster::launcher {

// GPUs that this process may use, counted without CUDA, which must not start before a fork: those
// in `visible_devices` (CUDA_VISIBLE_DEVICES) up to the first that CUDA would ignore, else the
// device files nvidia0, nvidia1... in `device_folder`.
int CountGpus(const std::optional<std::string>& visible_devices, const std::string& device_folder);

// The same of this process: CUDA_VISIBLE_DEVICES and /dev.
int CountOwnGpus();

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_GPU_COUNT_H_
