#ifndef MUSTER_TESTS_NCCL_CUDA_DRIVER_ENTRY_POINTS_H_
#define MUSTER_TESTS_NCCL_CUDA_DRIVER_ENTRY_POINTS_H_

#include <cuda.h>

// The driver's entry points, which a program finds by name through cudaGetDriverEntryPoint().
// Function `F` here stands for `cuF`. entry_points.cc checks the signatures against the real
// header.
namespace fake_cuda::driver {

// Returns the sticky error of the device, or CUDA_SUCCESS. The driver's errors have the same
// numbers as the runtime's.
CUresult State();

// device.cc
CUresult GetErrorString(CUresult error, const char** text);
CUresult GetErrorName(CUresult error, const char** name);
CUresult Init(unsigned int flags);
CUresult DeviceGet(CUdevice* device, int ordinal);
CUresult DeviceGetCount(int* count);
CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult DeviceGetName(char* name, int size, CUdevice device);
CUresult DeviceGetUuid(CUuuid* uuid, CUdevice device);
CUresult CtxGetCurrent(CUcontext* context);
CUresult CtxSetCurrent(CUcontext context);
CUresult CtxGetDevice(CUdevice* device);
CUresult DevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active);

// launch.cc
CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                        void** extra);
CUresult LaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                      unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                      unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                      void** parameters, void** extra);

// physical_memory.cc
CUresult MemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* properties, unsigned long long flags);
CUresult MemRelease(CUmemGenericAllocationHandle handle);
CUresult MemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                     CUmemAllocationGranularity_flags option);
CUresult MemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                              CUmemGenericAllocationHandle handle);
CUresult MemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                    CUmemAllocationHandleType type, unsigned long long flags);
CUresult MemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                      CUmemAllocationHandleType type);

// virtual_memory.cc
CUresult MemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment, CUdeviceptr wanted,
                           unsigned long long flags);
CUresult MemAddressFree(CUdeviceptr pointer, size_t size);
CUresult MemMap(CUdeviceptr pointer, size_t size, size_t offset,
                CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult MemUnmap(CUdeviceptr pointer, size_t size);
CUresult MemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* access,
                      size_t count);
CUresult MemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                      CUdeviceptr pointer);
CUresult MemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* pointer);
CUresult MemGetAddressRange(CUdeviceptr* base, size_t* size, CUdeviceptr pointer);
CUresult PointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer);

}  // namespace fake_cuda::driver

#endif  // MUSTER_TESTS_NCCL_CUDA_DRIVER_ENTRY_POINTS_H_
