#ifndef MUSTER_CLIENT_NCCL_GPU_MEMORY_H_
#define MUSTER_CLIENT_NCCL_GPU_MEMORY_H_

#include <cstdint>

namespace muster::internal {

// Bytes that this process has in use on all its GPUs, as the driver's management library (NVML)
// says. Where that does not know the process by its pid, as in most containers: what all processes
// together use of the current GPU. 0 where there is no GPU, and where the process has not used it:
// asking does not make it use one. Any thread.
int64_t GpuMemoryOfProcess();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_GPU_MEMORY_H_
