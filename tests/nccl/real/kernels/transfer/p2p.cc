#include "tests/nccl/real/kernels/transfer/p2p.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/nccl/real/kernels/transfer/transfer.h"

namespace cpu_nccl {
namespace {

using Transfers = std::vector<std::unique_ptr<Transfer>>;

// The part of a transfer that belongs to one of its channels.
struct Part {
  bool exists;
  size_t begin;
  size_t bytes;
};

Part PartOf(const Block& block, const ncclDevWorkP2p& work, int parts, size_t bytes) {
  const int part = ncclP2pChannelToPart(work.nP2pChannels, work.channelBase, block.channel_id);
  if (part >= parts) return {false, 0, 0};
  size_t begin = 0;
  size_t end = 0;
  ncclP2pPartBounds(parts, part, bytes, &begin, &end);
  return {true, begin, end - begin};
}

void RefuseRegistered(const ncclDevWorkP2p& work) {
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 23, 0)
  const bool registered = work.sendRegistered || work.recvRegistered;
#else
  const bool registered = work.sendNetReg || work.recvNetReg || work.sendIpcReg || work.recvIpcReg;
#endif
  if (registered) {
    Refuse("no kernel for registered buffers: set NCCL_LOCAL_REGISTER=0 and NCCL_GRAPH_REGISTER=0");
  }
}

void Add(Block& block, const Part& part, TransferOrder order, Transfers& transfers) {
  if (!part.exists) return;
  order.buffer += part.begin;
  order.bytes = part.bytes;
  transfers.push_back(Transfer::Create(block, order));
}

void AddTransfers(Block& block, const ncclDevWorkP2p& work, Transfers& transfers) {
  Add(block, PartOf(block, work, work.nRecvChannels, work.recvBytes),
      {work.recvRank, /*is_send=*/false, work.recvProtoLL != 0, static_cast<char*>(work.recvAddr),
       0, u32fp8Decode(work.recvChunkSize_u32fp8)},
      transfers);
  Add(block, PartOf(block, work, work.nSendChannels, work.sendBytes),
      {work.sendRank, /*is_send=*/true, work.sendProtoLL != 0, static_cast<char*>(work.sendAddr), 0,
       u32fp8Decode(work.sendChunkSize_u32fp8)},
      transfers);
}

// Copies a rank's message to itself.
void Copy(const Block& block, const ncclDevWorkP2p& work) {
  const Part part = PartOf(block, work, work.nSendChannels, work.sendBytes);
  if (part.bytes == 0 || work.sendAddr == work.recvAddr) return;
  const auto reach = [&](void* buffer) {
    return block.memory.Reach(static_cast<char*>(buffer) + part.begin, part.bytes,
                              "a user's buffer");
  };
  std::memmove(reach(work.recvAddr), reach(work.sendAddr), part.bytes);
}

// Advances every transfer that can proceed. Returns whether any could.
bool AdvanceAll(Transfers& transfers) {
  bool advanced = false;
  for (const auto& transfer : transfers) advanced = transfer->Advance() || advanced;
  return advanced;
}

bool AllDone(const Transfers& transfers) {
  return std::all_of(transfers.begin(), transfers.end(),
                     [](const auto& transfer) { return transfer->done(); });
}

}  // namespace

void RunP2p(Block& block, const std::vector<ncclDevWorkP2p>& works) {
  Transfers transfers;
  for (const ncclDevWorkP2p& work : works) {
    RefuseRegistered(work);
    if (work.sendRank == block.comm.rank) {
      Copy(block, work);
    } else {
      AddTransfers(block, work, transfers);
    }
  }
  for (Pause pause; !AllDone(transfers);) {
    if (AdvanceAll(transfers)) {
      pause.Reset();
    } else if (!block.waits.CheckAbort()) {
      pause.Next();
    }
  }
}

}  // namespace cpu_nccl
