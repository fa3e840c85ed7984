#ifndef MUSTER_CLIENT_NCCL_DEVICE_GPU_MEMORY_H_
#define MUSTER_CLIENT_NCCL_DEVICE_GPU_MEMORY_H_

#include <cstdint>

namespace muster::internal {

// Returns the number of bytes that this process uses on all its GPUs, as the driver's management
// library (NVML) reports. In most containers NVML does not know the process by its pid. Then
// returns the bytes that all processes use on the GPUs that this process's communicators have
// opened, or, if there are none, on the current GPU. Returns 0 if there is no GPU or the process
// has not used it; this call opens none. Any thread may call it.
int64_t GpuMemoryOfProcess();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DEVICE_GPU_MEMORY_H_
