#include "tests/nccl/cuda/runtime/cuda_error.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/failure.h"

namespace fake_cuda {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr ErrorText kTexts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorNvlinkUncorrectable, "cudaErrorNvlinkUncorrectable",
     "uncorrectable NVLink error detected during the execution"},
    {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", "hardware stack error"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorUnsupportedLimit, "cudaErrorUnsupportedLimit",
     "limit is not supported on this architecture"},
    {cudaErrorContextIsDestroyed, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const ErrorText* Find(cudaError_t error) {
  for (const ErrorText& entry : kTexts) {
    if (entry.error == error) return &entry;
  }
  return nullptr;
}

struct Injection {
  cudaError_t error = cudaSuccess;
  int from = 1;  // the first call that fails
  int calls = 0;
};

// Parses "FUNCTION=CODE" or "FUNCTION=CODE@CALL", separated by commas.
std::map<std::string, Injection> ReadInjections() {
  std::map<std::string, Injection> injections;
  const char* text = std::getenv("FAKE_CUDA_ERRORS");
  std::stringstream list(text == nullptr ? "" : text);
  for (std::string item; std::getline(list, item, ',');) {
    const size_t equals = item.find('=');
    const size_t at = item.find('@');
    Injection injection;
    injection.error = static_cast<cudaError_t>(std::stoi(item.substr(equals + 1)));
    if (at != std::string::npos) injection.from = std::stoi(item.substr(at + 1));
    injections[item.substr(0, equals)] = injection;
  }
  return injections;
}

}  // namespace

cudaError_t InjectedError(const char* function) {
  static std::mutex mutex;
  static auto* const kInjections = new std::map<std::string, Injection>(ReadInjections());
  const std::lock_guard<std::mutex> lock(mutex);
  const auto it = kInjections->find(function);
  if (it == kInjections->end()) return cudaSuccess;
  return ++it->second.calls >= it->second.from ? it->second.error : cudaSuccess;
}

cudaError_t RecordError(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void Violation(const char* format, ...) {
  std::fprintf(stderr, "fake CUDA/NCCL: VIOLATION: ");
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "\n");
  std::fflush(stderr);
  std::abort();
}

}  // namespace fake_cuda

extern "C" {

// Returns and clears the last error. An error of FailDevice() is not cleared.
cudaError_t cudaGetLastError() {
  const cudaError_t last = std::exchange(fake_cuda::last_error, cudaSuccess);
  return fake_cuda::Failure() == cudaSuccess ? last : fake_cuda::Failure();
}

cudaError_t cudaPeekAtLastError() {
  return fake_cuda::Failure() == cudaSuccess ? fake_cuda::last_error : fake_cuda::Failure();
}

const char* cudaGetErrorName(cudaError_t error) {
  const fake_cuda::ErrorText* entry = fake_cuda::Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const fake_cuda::ErrorText* entry = fake_cuda::Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->text;
}

}  // extern "C"
