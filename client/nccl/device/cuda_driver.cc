#include "client/nccl/device/cuda_driver.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace muster::internal {
namespace {

constexpr int kSuccess = 0;

#if CUDART_VERSION >= 12050
// Returns null if the driver, or a loaded runtime that is older than 12.5, lacks the function.
void* AskRuntime(const char* name) {
  constexpr unsigned int kVersion = 12000;  // the functions are older, and have not changed
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &result);
  if (error == cudaSuccess && result == cudaDriverEntryPointSuccess) return function;
  cudaGetLastError();  // else the program's next cudaGetLastError() returns it
  return nullptr;
}
#else
void* AskRuntime(const char*) { return nullptr; }
#endif

// `symbol` is the function's name in the driver's library.
void* Find(const char* name, const char* symbol) {
  if (void* const function = AskRuntime(name); function != nullptr) return function;
  // Never unloaded, as the runtime does not unload it either.
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, symbol);
}

template <class Function>
void Find(const char* name, Function** function, const char* symbol = nullptr) {
  *function = reinterpret_cast<Function*>(Find(name, symbol == nullptr ? name : symbol));
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
  Find("cuDeviceGetName", &name_);
  Find("cuDeviceGetUuid", &uuid_, "cuDeviceGetUuid_v2");
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

std::optional<std::string> CudaDriver::NameOf(int device) const {
  char name[256] = "";
  if (name_ == nullptr || name_(name, sizeof(name), device) != kSuccess) return std::nullopt;
  return name;
}

std::optional<cudaUUID_t> CudaDriver::UuidOf(int device) const {
  cudaUUID_t uuid = {};
  if (uuid_ == nullptr || uuid_(&uuid, device) != kSuccess) return std::nullopt;
  return uuid;
}

}  // namespace muster::internal
