#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_FIFO_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_FIFO_H_

#include <cstddef>
#include <cstdint>

#include "collectives.h"
#include "device.h"
#include "tests/nccl/real/kernels/kernel_memory.h"

namespace cpu_nccl {

// How a chunk moves through a FIFO: as `per_chunk` slices, each of which takes `steps` of the
// FIFO's NCCL_STEPS slots.
struct Slices {
  int per_chunk = 1;
  int steps = 1;
};

// This rank's end of a connection to a peer, for one direction.
//
//   sender:    waits for head + 8 >= step + n,  fills slots,  then tail = step + n
//   receiver:  waits for tail     >= step + n,  reads slots,  then head = step + n
//
// Over SHM and P2P, the peer's kernel is at the other end. Over the network, it is a proxy thread,
// which learns each slice's size, and says where the slice lies, through `connFifo`. Step counts
// continue from one kernel to the next in ncclConnInfo::step.
class Fifo {
 public:
  enum Direction { kSend, kReceive };

  // `connection` is a device pointer. A kernel may use other slices than the previous kernel, so
  // the step is rounded up to a slice. A receiver gives the skipped slots back at once.
  Fifo(const Memory& memory, ncclConnInfo* connection, Direction direction, Slices slices);
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  // Keeps the step for the next kernel.
  ~Fifo() { connection_->step = step_; }

  // Returns whether the slots of the next slice are free (to send) or filled (to receive).
  bool Ready() const;

  // Tells a sender's proxy, if there is one, the size of the next slice.
  void TellProxy(size_t bytes);

  // Returns the address of the next slice. Ready() must hold.
  char* Slot(size_t bytes);

  // Hands the slice over to the peer.
  void Post();

  // For the LL protocol, whose data carry their own flags: the current step, which gives the flag,
  // and an advance by one step that the peer is not told.
  uint64_t step() const { return step_; }
  void Advance() { step_ += slices_.steps; }
  const ncclConnInfo& connection() const { return *connection_; }

 private:
  ncclConnFifo* ProxySlot() const { return proxy_ + step_ % NCCL_STEPS; }
  char* FixedSlot();

  const Memory memory_;
  ncclConnInfo* const connection_;
  const Direction direction_;
  const Slices slices_;
  uint64_t step_ = 0;
  uint64_t* peer_step_ = nullptr;  // the counter that the peer moves
  uint64_t* own_step_ = nullptr;   // the counter that this rank moves
  ncclConnFifo* proxy_ = nullptr;  // null without a proxy
  char* buffer_ = nullptr;
};

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_FIFO_H_
