#include "tests/nccl/real/kernels/transfer/fifo.h"

namespace cpu_nccl {
namespace {

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Fifo::Fifo(const Memory& memory, ncclConnInfo* connection, Direction direction, Slices slices)
    : memory_(memory),
      connection_(memory.Reach(connection, 1, "a connection")),
      direction_(direction),
      slices_(slices),
      step_(RoundUp(connection_->step, slices.per_chunk * slices.steps)) {
  uint64_t* const head = memory_.Reach(connection_->head, 1, "a connection's head");
  uint64_t* const tail = memory_.Reach(connection_->tail, 1, "a connection's tail");
  peer_step_ = direction == kSend ? head : tail;
  own_step_ = direction == kSend ? tail : head;
  if (connection_->connFifo != nullptr) {
    proxy_ = memory_.Reach(connection_->connFifo, NCCL_STEPS, "a connection's slots");
  }
  if (direction == kReceive) __atomic_store_n(own_step_, step_, __ATOMIC_RELEASE);
}

bool Fifo::Ready() const {
  const uint64_t credit = direction_ == kSend ? NCCL_STEPS : 0;
  return __atomic_load_n(peer_step_, __ATOMIC_ACQUIRE) + credit >= step_ + slices_.steps;
}

void Fifo::TellProxy(size_t bytes) {
  if (proxy_ == nullptr || direction_ != kSend) return;
  __atomic_store_n(&ProxySlot()->size, static_cast<ssize_t>(bytes), __ATOMIC_RELEASE);
}

char* Fifo::Slot(size_t bytes) {
  if (proxy_ != nullptr &&
      __atomic_load_n(&ProxySlot()->mode, __ATOMIC_ACQUIRE) == NCCL_MODE_OFFSET) {
    const int offset = __atomic_load_n(&ProxySlot()->offset, __ATOMIC_ACQUIRE);
    return memory_.Reach(connection_->buffs[NCCL_PROTO_SIMPLE] + offset, bytes, "a shared FIFO");
  }
  return FixedSlot();
}

char* Fifo::FixedSlot() {
  const size_t step_bytes = connection_->stepSize;
  if (buffer_ == nullptr) {
    buffer_ =
        memory_.Reach(connection_->buffs[NCCL_PROTO_SIMPLE], NCCL_STEPS * step_bytes, "a FIFO");
  }
  return buffer_ + step_ % NCCL_STEPS * step_bytes;
}

void Fifo::Post() {
  Advance();
  __atomic_store_n(own_step_, step_, __ATOMIC_RELEASE);
}

}  // namespace cpu_nccl
