// The driver's library, with the functions that Muster looks for in it. They are those of the
// runtime that the process has loaded.

#include <cuda_runtime_api.h>

namespace {

template <class... Parameters>
int Call(const char* name, Parameters... arguments) {
  void* function = nullptr;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // CUDA 12.0 has no other one
  cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, nullptr);
#pragma GCC diagnostic pop
  return reinterpret_cast<int (*)(Parameters...)>(function)(arguments...);
}

}  // namespace

extern "C" {

int cuCtxGetCurrent(void** context) { return Call("cuCtxGetCurrent", context); }

int cuCtxSetCurrent(void* context) { return Call("cuCtxSetCurrent", context); }

int cuDevicePrimaryCtxGetState(int device, unsigned int* flags, int* active) {
  return Call("cuDevicePrimaryCtxGetState", device, flags, active);
}

int cuDeviceGetName(char* name, int size, int device) {
  return Call("cuDeviceGetName", name, size, device);
}

int cuDeviceGetUuid_v2(cudaUUID_t* uuid, int device) {
  return Call("cuDeviceGetUuid", uuid, device);
}

}  // extern "C"
