#include "client/nccl/device/cuda_driver.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace muster::internal {
namespace {

constexpr int kSuccess = 0;

void* Find(const char* name) {
#if CUDART_VERSION >= 12050
  constexpr unsigned int kVersion = 12000;  // the functions are older, and have not changed
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &result);
  if (error == cudaSuccess && result == cudaDriverEntryPointSuccess) return function;
  cudaGetLastError();  // else the program's next cudaGetLastError() returns it
  return nullptr;
#else
  // Never unloaded, as the runtime does not unload it either.
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, name);
#endif
}

template <class Function>
void Find(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(Find(name));
}

}  // namespace

const CudaDriver& CudaDriver::Get() {
  static const CudaDriver& driver = *new CudaDriver;
  return driver;
}

CudaDriver::CudaDriver() {
  Find("cuCtxGetCurrent", &get_current_);
  Find("cuCtxSetCurrent", &set_current_);
  Find("cuDevicePrimaryCtxGetState", &primary_state_);
}

void* CudaDriver::CurrentContext() const {
  void* context = nullptr;
  if (get_current_ == nullptr || get_current_(&context) != kSuccess) return nullptr;
  return context;
}

bool CudaDriver::SetCurrentContext(void* context) const {
  return set_current_ != nullptr && set_current_(context) == kSuccess;
}

bool CudaDriver::HasOpened(int device) const {
  unsigned int flags = 0;
  int active = 0;
  return primary_state_ != nullptr && primary_state_(device, &flags, &active) == kSuccess &&
         active != 0;
}

}  // namespace muster::internal
