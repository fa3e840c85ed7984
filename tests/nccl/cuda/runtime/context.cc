#include "tests/nccl/cuda/runtime/context.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/runtime/cuda_error.h"
#include "tests/nccl/cuda/runtime/devices.h"
#include "tests/nccl/cuda/runtime/environment.h"
#include "tests/nccl/cuda/runtime/failure.h"

namespace fake_cuda {
namespace {

struct ThreadState {
  int device = 0;
  CUctx_st* context = nullptr;
};

thread_local ThreadState state;

struct Contexts {
  std::mutex mutex;
  std::map<int, CUctx_st*> known;  // by device
  std::map<int, bool> open;
};

Contexts& AllContexts() {
  static auto* const kContexts = new Contexts();
  return *kContexts;
}

const char* FileOf(const void* code) {
  Dl_info info;
  return dladdr(code, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// Returns whether the call comes from the library in FAKE_CUDA_ONLY_DEVICE_EXCEPT, which the
// program cannot change. The first frame outside the stand-in decides.
bool CallerIsExcepted(void* const* frames, int count) {
  const std::string excepted = Variable("FAKE_CUDA_ONLY_DEVICE_EXCEPT", "");
  const std::string own = FileOf(reinterpret_cast<const void*>(&CallerIsExcepted));
  int i = 0;
  while (i < count && FileOf(frames[i]) == own) ++i;
  const bool known = i < count && !excepted.empty();
  return known && std::string(FileOf(frames[i])).find(excepted) != std::string::npos;
}

void CheckDeviceIsOwn(int device) {
  const std::string own = Variable("FAKE_CUDA_ONLY_DEVICE", "");
  if (own.empty() || own == std::to_string(device)) return;
  void* frames[32];
  const int count = backtrace(frames, 32);
  if (CallerIsExcepted(frames, count)) return;
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
  Violation("the process opens device %d, and FAKE_CUDA_ONLY_DEVICE=%s allows that one alone",
            device, own.c_str());
}

// Marks the context open. Returns whether it was closed.
bool MarkOpen(int device) {
  const std::lock_guard<std::mutex> lock(AllContexts().mutex);
  bool& open = AllContexts().open[device];
  const bool was_closed = !open;
  open = true;
  return was_closed;
}

void Open(int device) {
  if (MarkOpen(device)) Trace("opens device %d", device);
  CheckDeviceIsOwn(device);  // even if the excepted library has opened it before
}

}  // namespace

CUctx_st* ContextOf(int device) {
  const std::lock_guard<std::mutex> lock(AllContexts().mutex);
  CUctx_st*& context = AllContexts().known[device];
  if (context == nullptr) context = new CUctx_st{device};
  return context;
}

bool IsOpen(int device) {
  const std::lock_guard<std::mutex> lock(AllContexts().mutex);
  return AllContexts().open[device];
}

std::vector<int> OpenedDevices() {
  const std::lock_guard<std::mutex> lock(AllContexts().mutex);
  std::vector<int> devices;
  for (const auto& [device, open] : AllContexts().open) {
    if (open) devices.push_back(device);
  }
  return devices;
}

int CurrentDevice() { return state.device; }

void SetCurrentDevice(int device) {
  state.device = device;
  SetCurrentContext(ContextOf(device));
}

CUctx_st* CurrentContext() { return state.context; }

void SetCurrentContext(CUctx_st* context) {
  state.context = context;
  if (context == nullptr) return;
  state.device = context->device;
  Open(context->device);
}

cudaError_t BeginQuery(const char* function) {
  if (cudaError_t error = RuntimeState(); error != cudaSuccess) return error;
  return InjectedError(function);
}

cudaError_t BeginCudaCall(const char* function) {
  if (cudaError_t error = BeginQuery(function); error != cudaSuccess) return error;
  if (state.context == nullptr) SetCurrentDevice(state.device);
  return Failure();
}

}  // namespace fake_cuda
