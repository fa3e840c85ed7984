#include "tests/nccl/real/kernels/transfer/transfer.h"

#include <algorithm>
#include <cstring>

namespace cpu_nccl {
namespace {

// Point-to-point connections are the second ones of a pair of ranks.
constexpr int kConnection = 1;
constexpr Slices kSlices = {1, 1};

class SimpleSend : public Transfer {
 public:
  SimpleSend(Block& block, const TransferOrder& order) : Transfer(block, order, Fifo::kSend) {}

 private:
  bool Ready(size_t /*bytes*/) override { return fifo().Ready(); }

  void MoveChunk(char* user, size_t bytes) override {
    fifo().TellProxy(bytes);
    if (user != nullptr) std::memcpy(fifo().Slot(bytes), user, bytes);
    fifo().Post();
  }
};

class SimpleReceive : public Transfer {
 public:
  SimpleReceive(Block& block, const TransferOrder& order)
      : Transfer(block, order, Fifo::kReceive) {}

 private:
  bool Ready(size_t /*bytes*/) override { return fifo().Ready(); }

  void MoveChunk(char* user, size_t bytes) override {
    if (user != nullptr) std::memcpy(user, fifo().Slot(bytes), bytes);
    fifo().Post();
  }
};

// The lines of the LL protocol: 8 bytes of data, with a flag after each half. The flag is the
// step's number. A receiver polls the flags instead of a tail.
class Lines {
 public:
  Lines(const Block& block, const Fifo& fifo)
      : per_step_(block.comm.buffSizes[NCCL_PROTO_LL] / NCCL_STEPS / sizeof(ncclLLFifoLine)),
        lines_(reinterpret_cast<ncclLLFifoLine*>(
            block.memory.Reach(fifo.connection().buffs[NCCL_PROTO_LL],
                               block.comm.buffSizes[NCCL_PROTO_LL], "an LL FIFO"))) {}

  static constexpr size_t kData = sizeof(uint64_t);
  static size_t Count(size_t bytes) { return (bytes + kData - 1) / kData; }

  void Write(uint64_t step, const char* from, size_t bytes) {
    ncclLLFifoLine* const lines = At(step);
    for (size_t i = 0; i < Count(bytes); ++i) {
      uint32_t data[2] = {};
      std::memcpy(data, from + i * kData, std::min(kData, bytes - i * kData));
      for (int half = 0; half < 2; ++half) {
        __atomic_store_n(&lines[i].v[half], Flag(step) << 32 | data[half], __ATOMIC_RELEASE);
      }
    }
  }

  bool Written(uint64_t step, size_t bytes) const {
    const ncclLLFifoLine* const lines = At(step);
    for (size_t i = 0; i < 2 * Count(bytes); ++i) {
      if (__atomic_load_n(&lines[i / 2].v[i % 2], __ATOMIC_ACQUIRE) >> 32 != Flag(step))
        return false;
    }
    return true;
  }

  void Read(uint64_t step, char* to, size_t bytes) const {
    const ncclLLFifoLine* const lines = At(step);
    for (size_t i = 0; i < Count(bytes); ++i) {
      uint32_t data[2];
      for (int half = 0; half < 2; ++half) {
        data[half] = static_cast<uint32_t>(__atomic_load_n(&lines[i].v[half], __ATOMIC_ACQUIRE));
      }
      std::memcpy(to + i * kData, data, std::min(kData, bytes - i * kData));
    }
  }

 private:
  static uint64_t Flag(uint64_t step) { return NCCL_LL_FLAG(step + 1); }
  ncclLLFifoLine* At(uint64_t step) const { return lines_ + step % NCCL_STEPS * per_step_; }

  const size_t per_step_;
  ncclLLFifoLine* const lines_;
};

class LlSend : public Transfer {
 public:
  LlSend(Block& block, const TransferOrder& order)
      : Transfer(block, order, Fifo::kSend), lines_(block, fifo()) {}

 private:
  bool Ready(size_t /*bytes*/) override { return fifo().Ready(); }

  void MoveChunk(char* user, size_t bytes) override {
    fifo().TellProxy(Lines::Count(bytes) * sizeof(ncclLLFifoLine));
    if (user != nullptr) lines_.Write(fifo().step(), user, bytes);
    fifo().Advance();
  }

  Lines lines_;
};

class LlReceive : public Transfer {
 public:
  LlReceive(Block& block, const TransferOrder& order)
      : Transfer(block, order, Fifo::kReceive), lines_(block, fifo()) {}

 private:
  bool Ready(size_t bytes) override { return lines_.Written(fifo().step(), bytes); }

  void MoveChunk(char* user, size_t bytes) override {
    if (user != nullptr) lines_.Read(fifo().step(), user, bytes);
    fifo().Post();
  }

  Lines lines_;
};

}  // namespace

Transfer::Transfer(Block& block, const TransferOrder& order, Fifo::Direction direction)
    : block_(block),
      order_(order),
      fifo_(block.memory, block.Connection(order.peer, order.is_send, kConnection), direction,
            kSlices) {
  if (order.bytes > 0) user_ = block.memory.Reach(order.buffer, order.bytes, "a user's buffer");
}

std::unique_ptr<Transfer> Transfer::Create(Block& block, const TransferOrder& order) {
  if (order.by_ll) {
    if (order.is_send) return std::make_unique<LlSend>(block, order);
    return std::make_unique<LlReceive>(block, order);
  }
  if (order.is_send) return std::make_unique<SimpleSend>(block, order);
  return std::make_unique<SimpleReceive>(block, order);
}

bool Transfer::Advance() {
  const size_t bytes = std::min(order_.chunk, order_.bytes - moved_);
  const bool aborted = block_.waits.aborted();
  if (done_ || (!aborted && !Ready(bytes))) return false;
  MoveChunk(bytes == 0 || aborted ? nullptr : user_ + moved_, bytes);
  moved_ += bytes;
  done_ = moved_ == order_.bytes;
  return true;
}

}  // namespace cpu_nccl
