#ifndef MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_TRANSFER_H_
#define MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_TRANSFER_H_

#include <cstddef>
#include <memory>

#include "tests/nccl/real/kernels/block.h"
#include "tests/nccl/real/kernels/transfer/fifo.h"

namespace cpu_nccl {

// The data that one send or receive moves through a channel.
struct TransferOrder {
  int peer;
  bool is_send;
  bool by_ll;    // the LL protocol, which NCCL uses for short messages on one node
  char* buffer;  // device pointer
  size_t bytes;  // may be 0, which takes one step too
  size_t chunk;  // bytes of a step
};

// A send or a receive as a state machine, so that one thread can run many.
class Transfer {
 public:
  static std::unique_ptr<Transfer> Create(Block& block, const TransferOrder& order);

  virtual ~Transfer() = default;

  bool done() const { return done_; }

  // Moves the next chunk if the peer is ready for it. If the communicator is aborted, moves on
  // without the data. Returns whether it moved.
  bool Advance();

 protected:
  Transfer(Block& block, const TransferOrder& order, Fifo::Direction direction);

  Fifo& fifo() { return fifo_; }
  const Block& block() const { return block_; }

  virtual bool Ready(size_t bytes) = 0;
  // Moves `bytes` between the FIFO and `user`, which is null if the step carries no data.
  virtual void MoveChunk(char* user, size_t bytes) = 0;

 private:
  Block& block_;
  const TransferOrder order_;
  Fifo fifo_;
  char* user_ = nullptr;
  size_t moved_ = 0;
  bool done_ = false;
};

}  // namespace cpu_nccl

#endif  // MUSTER_TESTS_NCCL_REAL_KERNELS_TRANSFER_TRANSFER_H_
