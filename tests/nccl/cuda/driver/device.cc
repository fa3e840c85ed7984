// Devices and contexts, as the driver shows them. A CUdevice is the runtime's ordinal.

#include <cstdio>
#include <cstring>

#include "tests/nccl/cuda/driver/entry_points.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/devices.h"
#include "tests/nccl/cuda/runtime/failure.h"

namespace fake_cuda::driver {
namespace {

bool Exists(CUdevice device) {
  return device >= 0 && device < static_cast<int>(VisibleDevices().size());
}

}  // namespace

CUresult State() { return static_cast<CUresult>(Failure()); }

CUresult GetErrorString(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

CUresult GetErrorName(CUresult error, const char** name) {
  *name = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

CUresult Init(unsigned int) { return static_cast<CUresult>(RuntimeState()); }

CUresult DeviceGet(CUdevice* device, int ordinal) {
  if (!Exists(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult DeviceGetCount(int* count) {
  *count = static_cast<int>(VisibleDevices().size());
  return CUDA_SUCCESS;
}

CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (!Exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      *value = 1;
      return CUDA_SUCCESS;
    // The machine has one NUMA node, number 0. It has no RDMA, multicast or fabric of machines.
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      Violation("cuDeviceGetAttribute asks for attribute %d, which is not modelled",
                static_cast<int>(attribute));
  }
}

CUresult DeviceGetName(char* name, int size, CUdevice device) {
  if (!Exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, size, "%s", kDeviceName);
  return CUDA_SUCCESS;
}

CUresult DeviceGetUuid(CUuuid* uuid, CUdevice device) {
  if (!Exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(uuid, &VisibleDevices()[device].uuid, sizeof *uuid);
  return CUDA_SUCCESS;
}

CUresult CtxGetCurrent(CUcontext* context) {
  *context = CurrentContext();
  return CUDA_SUCCESS;
}

CUresult CtxSetCurrent(CUcontext context) {
  SetCurrentContext(context);
  return CUDA_SUCCESS;
}

CUresult CtxGetDevice(CUdevice* device) {
  if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = CurrentContext()->device;
  return CUDA_SUCCESS;
}

CUresult DevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  if (!Exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = IsOpen(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace fake_cuda::driver
