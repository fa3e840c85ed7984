#include "tests/nccl/fake/nccl/profiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "client/nccl/profiler/abi.h"
#include "tests/nccl/fake/nccl/comm.h"

namespace fake_nccl {
namespace {

using muster::nccl_profiler::EventDescription;
using muster::nccl_profiler::kCollective;
using muster::nccl_profiler::kKernelChannel;
using muster::nccl_profiler::Profiler;

constexpr int kChannels = 2;
constexpr int kKernelChannelStopped = 22;  // a state
constexpr uint8_t kGroup = 1;
constexpr uint8_t kPointToPoint = 4;

// By its file's name, or what stands between "libnccl-profiler-" and ".so".
const Profiler* Load() {
  const char* const name = std::getenv("NCCL_PROFILER_PLUGIN");
  if (name == nullptr) return nullptr;
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    library = dlopen(("libnccl-profiler-" + std::string(name) + ".so").c_str(), RTLD_NOW);
  }
  return library == nullptr ? nullptr
                            : static_cast<const Profiler*>(dlsym(library, "ncclProfiler_v4"));
}

const Profiler* Plugin() {
  static const Profiler* const plugin = Load();
  return plugin;
}

const char* NameOf(ncclDataType_t type) {
  switch (type) {
    case ncclFloat32:
      return "ncclFloat32";
    case ncclFloat64:
      return "ncclFloat64";
    case ncclInt32:
      return "ncclInt32";
    default:
      return "ncclUint8";
  }
}

// NCCL clears a handle only where it asks for one.
void* Start(ncclComm_t comm, EventDescription event) {
  void* handle = nullptr;
  event.rank = comm->rank;
  Plugin()->start_event(comm->profiler_context, &handle, &event);
  return handle;
}

// NCCL tells of point-to-point operations too where it is asked for the parts of kernels.
void* StartOperation(ncclComm_t comm, const Operation& operation, void* group) {
  EventDescription event;
  std::memset(&event, 0x5a, sizeof(event));  // what is not set is not zero
  event.kind = IsCollective(operation) ? kCollective : kPointToPoint;
  event.parent = group;
  if (IsCollective(operation)) {
    event.collective.function = operation.function + std::strlen("nccl");
    event.collective.count = operation.count;
    event.collective.data_type = NameOf(operation.type);
    event.collective.channels = kChannels;
  }
  return Start(comm, event);
}

}  // namespace

void ProfileBegin(ncclComm_t comm) {
  if (Plugin() == nullptr) return;
  Plugin()->init(&comm->profiler_context, &comm->profiler_mask, nullptr, comm->hash, 1, comm->size,
                 comm->rank, [] {});
}

void ProfileEnd(ncclComm_t comm) {
  if (comm->profiler_context == nullptr) return;
  Plugin()->finalize(comm->profiler_context);
  comm->profiler_context = nullptr;
}

std::vector<void*> ProfileLaunch(ncclComm_t comm, const std::vector<Operation>& operations) {
  if (comm->profiler_context == nullptr) return {};
  EventDescription group = {};
  group.kind = kGroup;
  void* const group_handle = Start(comm, group);
  std::vector<void*> handles;
  for (const Operation& operation : operations) {
    handles.push_back(StartOperation(comm, operation, group_handle));
  }
  for (void* handle : handles) {
    if (handle != nullptr) Plugin()->stop_event(handle);
  }
  if (group_handle != nullptr) Plugin()->stop_event(group_handle);
  return handles;
}

std::vector<void*> ProfileKernelStart(ncclComm_t comm, const std::vector<void*>& operations) {
  std::vector<void*> parts;
  if ((comm->profiler_mask & kKernelChannel) == 0) return parts;
  for (void* operation : operations) {
    for (int channel = 0; channel < kChannels; ++channel) {
      EventDescription event = {};
      event.kind = kKernelChannel;
      event.parent = operation;
      event.kernel_channel.channel = static_cast<uint8_t>(channel);
      if (void* const part = Start(comm, event); part != nullptr) parts.push_back(part);
    }
  }
  return parts;
}

void ProfileKernelStop(const std::vector<void*>& parts) {
  uint64_t gpu_time = 0;
  for (void* part : parts) {
    Plugin()->record_event_state(part, kKernelChannelStopped, &gpu_time);
    Plugin()->stop_event(part);
  }
}

}  // namespace fake_nccl
