// The kernels of NCCL. Every kernel symbol of libnccl.so.2 jumps here, and the work says what to
// do.

#include <bitset>
#include <thread>
#include <vector>

#include "tests/nccl/real/kernels/block.h"
#include "tests/nccl/real/kernels/function.h"
#include "tests/nccl/real/kernels/profiler.h"
#include "tests/nccl/real/kernels/transfer/p2p.h"
#include "tests/nccl/real/kernels/transfer/ring.h"
#include "tests/nccl/real/kernels/work_batch.h"

namespace cpu_nccl {
namespace {

void RunBatch(Block& block, const Batch& batch) {
  const Function& function = FunctionOf(batch.function_id);
  switch (batch.type) {
    case ncclDevWorkTypeP2p:
      return RunP2p(block, batch.Works<ncclDevWorkP2p>());
    case ncclDevWorkTypeColl:
      for (const auto& work : batch.Works<ncclDevWorkColl>()) RunRing(block, function, work);
      return;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
    case ncclDevWorkTypeBcast:
      return RunBroadcasts(block, function, batch.Works<ncclDevWorkBcast>());
#endif
    default:
      Refuse("no kernel for %s with registered buffers", NameOf(function).c_str());
  }
}

// Runs the batches of one channel. After an abort, it ends with the batch that saw the abort.
void RunBlock(const Memory& memory, const ncclDevKernelArgs& arguments, int index, int channel_id) {
  const DeviceComm& comm = *memory.Reach(arguments.comm, 1, "a communicator");
  Block block{memory, comm, channel_id, *memory.Reach(comm.channels + channel_id, 1, "a channel"),
              Waits(memory.Reach(comm.abortFlag, 1, "an abort flag"))};
  Profiler profiler(block);
  for (int next = index; next >= 0 && !block.waits.aborted();) {
    const Batch batch = LoadBatch(memory, arguments, next);
    ReleaseWork(block, arguments, batch);
    profiler.Start(batch);
    RunBatch(block, batch);
    profiler.Stop(batch);
    next = batch.next;
  }
}

std::vector<int> ChannelsOf(const ncclDevKernelArgs& arguments) {
  std::vector<int> channels;
  const std::bitset<64> mask(arguments.channelMask);
  for (int channel = 0; channel < MAXCHANNELS; ++channel) {
    if (mask[channel]) channels.push_back(channel);
  }
  return channels;
}

}  // namespace
}  // namespace cpu_nccl

extern "C" __attribute__((visibility("default"))) void MusterRunNcclKernel(
    const CpuLaunch* launch) {
  const auto& arguments = *static_cast<const ncclDevKernelArgs*>(launch->arguments);
  const cpu_nccl::Memory memory(*launch);
  const std::vector<int> channels = cpu_nccl::ChannelsOf(arguments);
  std::vector<std::thread> blocks;
  for (size_t index = 1; index < channels.size(); ++index) {
    blocks.emplace_back(
        [&, index] { cpu_nccl::RunBlock(memory, arguments, index, channels[index]); });
  }
  cpu_nccl::RunBlock(memory, arguments, 0, channels.at(0));
  for (std::thread& block : blocks) block.join();
}

// Rejects kernels that are not built on ncclDevKernelArgs.
extern "C" __attribute__((visibility("default"))) void MusterRefuseNcclKernel(const CpuLaunch*) {
  cpu_nccl::Refuse("no kernel for symmetric memory: set NCCL_WIN_ENABLE=0");
}
