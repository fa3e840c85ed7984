// Names of CUDA 12 that NCCL 2.22 uses and CUDA 13 no longer has. Included before each of its
// source files.
#ifndef MUSTER_TESTS_NCCL_REAL_COMPAT_CUDA_12_H_
#define MUSTER_TESTS_NCCL_REAL_COMPAT_CUDA_12_H_

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

// CUDA 13 adds the edges' data to these functions, and drops the forms without it.
inline cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                               unsigned long long* id, cudaGraph_t* graph = nullptr,
                                               const cudaGraphNode_t** dependencies = nullptr,
                                               size_t* count = nullptr) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}

inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                       cudaGraphNode_t* dependencies, size_t count,
                                                       unsigned flags) {
  return cudaStreamUpdateCaptureDependencies(stream, dependencies, nullptr, count, flags);
}

// CUDA 13 deprecates the form without a version, which returns the newest one.
#define cudaGetDriverEntryPoint(symbol, function, flags, status) \
  cudaGetDriverEntryPointByVersion(symbol, function, 12040, flags, status)

// The versions that the driver's unversioned function names meant in CUDA 12.

using PFN_cuCtxCreate = PFN_cuCtxCreate_v11040;
using PFN_cuCtxDestroy = PFN_cuCtxDestroy_v4000;
using PFN_cuCtxGetCurrent = PFN_cuCtxGetCurrent_v4000;
using PFN_cuCtxGetDevice = PFN_cuCtxGetDevice_v2000;
using PFN_cuCtxSetCurrent = PFN_cuCtxSetCurrent_v4000;
using PFN_cuDeviceGet = PFN_cuDeviceGet_v2000;
using PFN_cuDeviceGetAttribute = PFN_cuDeviceGetAttribute_v2000;
using PFN_cuGetErrorName = PFN_cuGetErrorName_v6000;
using PFN_cuGetErrorString = PFN_cuGetErrorString_v6000;
using PFN_cuLaunchKernel = PFN_cuLaunchKernel_v4000;
using PFN_cuLaunchKernelEx = PFN_cuLaunchKernelEx_v11060;
using PFN_cuMemAddressFree = PFN_cuMemAddressFree_v10020;
using PFN_cuMemAddressReserve = PFN_cuMemAddressReserve_v10020;
using PFN_cuMemCreate = PFN_cuMemCreate_v10020;
using PFN_cuMemExportToShareableHandle = PFN_cuMemExportToShareableHandle_v10020;
using PFN_cuMemGetAddressRange = PFN_cuMemGetAddressRange_v3020;
using PFN_cuMemGetAllocationGranularity = PFN_cuMemGetAllocationGranularity_v10020;
using PFN_cuMemGetHandleForAddressRange = PFN_cuMemGetHandleForAddressRange_v11070;
using PFN_cuMemImportFromShareableHandle = PFN_cuMemImportFromShareableHandle_v10020;
using PFN_cuMemMap = PFN_cuMemMap_v10020;
using PFN_cuMemRelease = PFN_cuMemRelease_v10020;
using PFN_cuMemRetainAllocationHandle = PFN_cuMemRetainAllocationHandle_v11000;
using PFN_cuMemSetAccess = PFN_cuMemSetAccess_v10020;
using PFN_cuMemUnmap = PFN_cuMemUnmap_v10020;
using PFN_cuMulticastAddDevice = PFN_cuMulticastAddDevice_v12010;
using PFN_cuMulticastBindAddr = PFN_cuMulticastBindAddr_v12010;
using PFN_cuMulticastBindMem = PFN_cuMulticastBindMem_v12010;
using PFN_cuMulticastCreate = PFN_cuMulticastCreate_v12010;
using PFN_cuMulticastGetGranularity = PFN_cuMulticastGetGranularity_v12010;
using PFN_cuMulticastUnbind = PFN_cuMulticastUnbind_v12010;
using PFN_cuPointerGetAttribute = PFN_cuPointerGetAttribute_v4000;

#endif  // MUSTER_TESTS_NCCL_REAL_COMPAT_CUDA_12_H_
