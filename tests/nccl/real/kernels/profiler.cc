#include "tests/nccl/real/kernels/profiler.h"

#include <time.h>

namespace cpu_nccl {

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 26, 0)

void Profiler::Start(const Batch& /*batch*/) {}
void Profiler::Stop(const Batch& /*batch*/) {}

#else

namespace {

uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::vector<bool> Watched(const Batch& batch) {
  std::vector<bool> watched;
  if (batch.type == ncclDevWorkTypeP2p) {
    for (const auto& work : batch.Works<ncclDevWorkP2p>()) watched.push_back(work.profilerEnabled);
  } else if (batch.type == ncclDevWorkTypeColl) {
    for (const auto& work : batch.Works<ncclDevWorkColl>()) watched.push_back(work.profilerEnabled);
  }
  watched.resize(batch.size());
  return watched;
}

// Writes the time, and then the number of the work, for which the host waits.
void Mark(const Block& block, const Batch& batch, ncclDevProfiler* of_channels) {
  uint64_t number = block.channel.workCounter;
  for (const bool watched : Watched(batch)) {
    ++number;
    if (!watched) continue;
    ncclDevProfiler* const channel =
        block.memory.Reach(of_channels + block.channel_id, 1, "the profiler's counters");
    auto& entry = channel->data[number % MAX_PROFILER_EVENTS_PER_CHANNEL];
    __atomic_store_n(&entry.timestamp, Now(), __ATOMIC_RELAXED);
    __atomic_store_n(&entry.counter, number, __ATOMIC_RELEASE);
  }
}

}  // namespace

void Profiler::Start(const Batch& batch) { Mark(block_, batch, block_.comm.workStarted); }

void Profiler::Stop(const Batch& batch) {
  Mark(block_, batch, block_.comm.workCompleted);
  block_.channel.workCounter += batch.size();
}

#endif

}  // namespace cpu_nccl
