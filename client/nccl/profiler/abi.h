#ifndef MUSTER_CLIENT_NCCL_PROFILER_ABI_H_
#define MUSTER_CLIENT_NCCL_PROFILER_ABI_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// The interface between NCCL and a profiler plug-in, version 4. NCCL has it from 2.27.3 on, and
// newer versions keep it beside their own. NCCL installs no header for it. This file repeats
// src/include/plugin/profiler/profiler_v4.h of NCCL's sources, with only the parts of the
// descriptors that the plug-in reads.
namespace muster::nccl_profiler {

// Kinds of events, and bits of the mask that requests them.
inline constexpr uint8_t kGroup = 1 << 0;          // operations that are launched together
inline constexpr uint8_t kCollective = 1 << 1;     // a collective is given to the GPU
inline constexpr uint8_t kKernelChannel = 1 << 6;  // the part of a kernel on one channel

inline constexpr int kSuccess = 0;

struct EventDescription {
  struct Collective {
    uint64_t sequence_number;
    const char* function;  // "AllReduce"
    const void* send_buffer;
    void* receive_buffer;
    size_t count;
    int root;
    const char* data_type;  // "ncclFloat32"
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  struct KernelChannel {
    uint8_t channel;
    uint64_t gpu_time;
  };

  uint8_t kind;
  void* parent;  // for a part of a kernel: the handle of its collective
  int rank;
  union {
    Collective collective;
    KernelChannel kernel_channel;
  };
};
static_assert(sizeof(EventDescription) == 104);
static_assert(offsetof(EventDescription, parent) == 8);
static_assert(offsetof(EventDescription, collective.function) == 32);
static_assert(offsetof(EventDescription, collective.count) == 56);
static_assert(offsetof(EventDescription, collective.data_type) == 72);
static_assert(offsetof(EventDescription, collective.channels) == 80);

// The table that a plug-in exports as `ncclProfiler_v4`. The functions return kSuccess or another
// ncclResult_t, and may be called from any thread.
struct Profiler {
  const char* name;
  // Called when a communicator begins. Stores the requested kinds of events in `*mask`.
  int (*init)(void** context, int* mask, const char* communicator_name, uint64_t communicator_hash,
              int nodes, int ranks, int rank, void (*log)());
  // Called when an event begins. A null handle means that the plug-in ignores the event.
  int (*start_event)(void* context, void** handle, EventDescription* description);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};
static_assert(sizeof(Profiler) == 48);

}  // namespace muster::nccl_profiler

#endif  // MUSTER_CLIENT_NCCL_PROFILER_ABI_H_
