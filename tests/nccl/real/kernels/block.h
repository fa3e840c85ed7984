#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_BLOCK_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_BLOCK_H_

#include <type_traits>

#include "device.h"
#include "tests/nccl/real/kernels/kernel_memory.h"
#include "tests/nccl/real/kernels/transfer/waits.h"

namespace cpu_nccl {

// The device's side of a communicator: ncclDevComm, or ncclKernelComm in later versions.
using DeviceComm = std::remove_pointer_t<decltype(ncclDevKernelArgs::comm)>;

// A block: the part of a kernel that works on one channel, with its state.
struct Block {
  Memory memory;
  const DeviceComm& comm;
  int channel_id;
  ncclDevChannel& channel;
  Waits waits;

  // Returns a connection of this channel to a peer, as a device pointer.
  ncclConnInfo* Connection(int peer, bool is_send, int index) const {
    ncclDevChannelPeer** const peers = memory.Reach(channel.peers, comm.nRanks, "peers");
    return is_send ? &peers[peer]->send[index] : &peers[peer]->recv[index];
  }
};

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_BLOCK_H_
