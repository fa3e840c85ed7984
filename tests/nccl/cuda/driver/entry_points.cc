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
Entry MakeEntry(const char* name, Real* function) {
  return {name, reinterpret_cast<void*>(function)};
}

const std::map<std::string, void*>& EntryPoints() {
  static const auto* const kEntryPoints = new std::map<std::string, void*>{
      MakeEntry<decltype(cuGetErrorString)>("cuGetErrorString", GetErrorString),
      MakeEntry<decltype(cuGetErrorName)>("cuGetErrorName", GetErrorName),
      MakeEntry<decltype(cuInit)>("cuInit", Init),
      MakeEntry<decltype(cuDeviceGet)>("cuDeviceGet", DeviceGet),
      MakeEntry<decltype(cuDeviceGetCount)>("cuDeviceGetCount", DeviceGetCount),
      MakeEntry<decltype(cuDeviceGetAttribute)>("cuDeviceGetAttribute", DeviceGetAttribute),
      MakeEntry<decltype(cuDeviceGetName)>("cuDeviceGetName", DeviceGetName),
      MakeEntry<decltype(cuDeviceGetUuid)>("cuDeviceGetUuid", DeviceGetUuid),
      MakeEntry<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent", CtxGetCurrent),
      MakeEntry<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent", CtxSetCurrent),
      MakeEntry<decltype(cuCtxGetDevice)>("cuCtxGetDevice", CtxGetDevice),
      MakeEntry<decltype(cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState",
                                                      DevicePrimaryCtxGetState),
      MakeEntry<decltype(cuLaunchKernelEx)>("cuLaunchKernelEx", LaunchKernelEx),
      MakeEntry<decltype(cuLaunchKernel)>("cuLaunchKernel", LaunchKernel),
      MakeEntry<decltype(cuMemCreate)>("cuMemCreate", MemCreate),
      MakeEntry<decltype(cuMemRelease)>("cuMemRelease", MemRelease),
      MakeEntry<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity",
                                                         MemGetAllocationGranularity),
      MakeEntry<decltype(cuMemGetAllocationPropertiesFromHandle)>(
          "cuMemGetAllocationPropertiesFromHandle", MemGetAllocationPropertiesFromHandle),
      MakeEntry<decltype(cuMemExportToShareableHandle)>("cuMemExportToShareableHandle",
                                                        MemExportToShareableHandle),
      MakeEntry<decltype(cuMemImportFromShareableHandle)>("cuMemImportFromShareableHandle",
                                                          MemImportFromShareableHandle),
      MakeEntry<decltype(cuMemAddressReserve)>("cuMemAddressReserve", MemAddressReserve),
      MakeEntry<decltype(cuMemAddressFree)>("cuMemAddressFree", MemAddressFree),
      MakeEntry<decltype(cuMemMap)>("cuMemMap", MemMap),
      MakeEntry<decltype(cuMemUnmap)>("cuMemUnmap", MemUnmap),
      MakeEntry<decltype(cuMemSetAccess)>("cuMemSetAccess", MemSetAccess),
      MakeEntry<decltype(cuMemGetAccess)>("cuMemGetAccess", MemGetAccess),
      MakeEntry<decltype(cuMemRetainAllocationHandle)>("cuMemRetainAllocationHandle",
                                                       MemRetainAllocationHandle),
      MakeEntry<decltype(cuMemGetAddressRange)>("cuMemGetAddressRange", MemGetAddressRange),
      MakeEntry<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute", PointerGetAttribute),
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
  if (error != cudaSuccess) return fake_cuda::RecordError(error);
  return fake_cuda::driver::Find(name, function, result);
}

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
  const cudaError_t error = fake_cuda::BeginQuery(__func__);
  if (error != cudaSuccess) return fake_cuda::RecordError(error);
  return fake_cuda::driver::Find(name, function, result);
}

}  // extern "C"
