// The table of the driver's entry points. A function that is not in it "is not found", as with a
// driver that is older than the program.

#include "tests/nccl/cuda/driver/entry_points.h"

#include <cuda_runtime_api.h>

#include <map>
#include <string>
#include <utility>

#include "tests/nccl/cuda/runtime/context.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/environment.h"

namespace fake_cuda::driver {
namespace {

using Entry = std::pair<const std::string, void*>;

// Fails to compile if the function does not have the real function's signature.
template <class Real>
Entry Of(const char* name, Real* function) {
  return {name, reinterpret_cast<void*>(function)};
}

const std::map<std::string, void*>& EntryPoints() {
  static const auto* const kEntryPoints = new std::map<std::string, void*>{
      Of<decltype(cuGetErrorString)>("cuGetErrorString", GetErrorString),
      Of<decltype(cuGetErrorName)>("cuGetErrorName", GetErrorName),
      Of<decltype(cuInit)>("cuInit", Init),
      Of<decltype(cuDeviceGet)>("cuDeviceGet", DeviceGet),
      Of<decltype(cuDeviceGetCount)>("cuDeviceGetCount", DeviceGetCount),
      Of<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute", DeviceGetAttribute),
      Of<decltype(cuDeviceGetUuid)>("cuDeviceGetUuid", DeviceGetUuid),
      Of<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent", CtxGetCurrent),
      Of<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent", CtxSetCurrent),
      Of<decltype(cuCtxGetDevice)>("cuCtxGetDevice", CtxGetDevice),
      Of<decltype(cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState",
                                               DevicePrimaryCtxGetState),
      Of<decltype(cuLaunchKernelEx)>("cuLaunchKernelEx", LaunchKernelEx),
      Of<decltype(cuLaunchKernel)>("cuLaunchKernel", LaunchKernel),
      Of<decltype(cuMemCreate)>("cuMemCreate", MemCreate),
      Of<decltype(cuMemRelease)>("cuMemRelease", MemRelease),
      Of<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity",
                                                  MemGetAllocationGranularity),
      Of<decltype(cuMemGetAllocationPropertiesFromHandle)>("cuMemGetAllocationPropertiesFromHandle",
                                                           MemGetAllocationPropertiesFromHandle),
      Of<decltype(cuMemExportToShareableHandle)>("cuMemExportToShareableHandle",
                                                 MemExportToShareableHandle),
      Of<decltype(cuMemImportFromShareableHandle)>("cuMemImportFromShareableHandle",
                                                   MemImportFromShareableHandle),
      Of<decltype(cuMemAddressReserve)>("cuMemAddressReserve", MemAddressReserve),
      Of<decltype(cuMemAddressFree)>("cuMemAddressFree", MemAddressFree),
      Of<decltype(cuMemMap)>("cuMemMap", MemMap),
      Of<decltype(cuMemUnmap)>("cuMemUnmap", MemUnmap),
      Of<decltype(cuMemSetAccess)>("cuMemSetAccess", MemSetAccess),
      Of<decltype(cuMemGetAccess)>("cuMemGetAccess", MemGetAccess),
      Of<decltype(cuMemRetainAllocationHandle)>("cuMemRetainAllocationHandle",
                                                MemRetainAllocationHandle),
      Of<decltype(cuMemGetAddressRange)>("cuMemGetAddressRange", MemGetAddressRange),
      Of<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute", PointerGetAttribute),
  };
  return *kEntryPoints;
}

cudaError_t Find(const char* name, void** function, cudaDriverEntryPointQueryResult* result) {
  const auto it = EntryPoints().find(name);
  const bool found = it != EntryPoints().end();
  if (!found) Trace("the driver has no entry point %s", name);
  *function = found ? it->second : nullptr;
  if (result != nullptr) {
    *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace fake_cuda::driver

extern "C" {

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const cudaError_t error = fake_cuda::BeginQuery(__func__);
  if (error != cudaSuccess) return fake_cuda::Return(error);
  return fake_cuda::driver::Find(name, function, result);
}

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  const cudaError_t error = fake_cuda::BeginQuery(__func__);
  if (error != cudaSuccess) return fake_cuda::Return(error);
  return fake_cuda::driver::Find(name, function, result);
}

}  // extern "C"
