#ifndef MUSTER_CLIENT_NCCL_GPU_MEMORY_H_
#define MUSTER_CLIENT_NCCL_GPU_MEMORY_H_

#include <cstdint>

namespace muster::internal {

// Bytes that this process has in use on all its GPUs, as the driver's management library (NVML)
// says. If NVML does not know the process by its pid, as in most containers: what all processes
// together use of the GPUs that this process's communicators have opened, or, without one, of the
// current GPU. 0 if there is no GPU or the process has not used it: asking opens no GPU. Any
// thread.
int64_t GpuMemoryOfProcess();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_GPU_MEMORY_H_
