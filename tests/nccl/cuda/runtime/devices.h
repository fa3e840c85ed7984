#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_DEVICES_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_DEVICES_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace fake_cuda {

inline constexpr char kDeviceName[] = "Fake GPU";

struct Device {
  int physical = 0;  // its index on the machine, whatever CUDA_VISIBLE_DEVICES says
  cudaUUID_t uuid = {};
};

// Returns the devices that the process sees, in the order of CUDA_VISIBLE_DEVICES.
const std::vector<Device>& VisibleDevices();

// Returns the bytes of memory of each device (FAKE_CUDA_MEMORY).
size_t DeviceMemory();

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_DEVICES_H_
