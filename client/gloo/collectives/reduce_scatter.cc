#include "client/gloo/collectives/reduce_scatter.h"

#include <algorithm>
#include <vector>

#include "client/gloo/connections/gloo_slots.h"
#include "gloo/types.h"

namespace muster::internal {
namespace {

// The largest block that travels at a time. A block of this size stays in the cache between its
// arrival and its reduction, and scratch memory stays small.
constexpr size_t kBlockBytes = 1 << 20;

// A ring of ranks that reduces one block. In each step, every rank sends its partial result of one
// part to its right, and adds its own elements to the partial result from its left. The part that
// comes last is this rank's own.
class Ring {
 public:
  Ring(gloo::Context* context, size_t block_bytes, uint64_t slot)
      : rank_(context->rank),
        size_(context->size),
        slot_(slot),
        outgoing_(block_bytes),
        incoming_(block_bytes),
        send_(context->createUnboundBuffer(outgoing_.data(), block_bytes)),
        receive_(context->createUnboundBuffer(incoming_.data(), block_bytes)) {}

  // Returns the part that this rank handles in `step`, from 0 to the number of ranks - 1. In step 0
  // it only sends.
  int PartOf(int step) const { return (rank_ - 1 - step + 2 * size_) % size_; }

  // Sends the outgoing block while the incoming block arrives.
  void Shift(size_t bytes) {
    receive_->recv((rank_ - 1 + size_) % size_, slot_, 0, bytes);
    send_->send((rank_ + 1) % size_, slot_, 0, bytes);
    receive_->waitRecv();
    send_->waitSend();
  }

  char* outgoing() { return outgoing_.data(); }
  const char* incoming() const { return incoming_.data(); }

 private:
  const int rank_;
  const int size_;
  const uint64_t slot_;
  std::vector<char> outgoing_;
  std::vector<char> incoming_;
  std::unique_ptr<gloo::transport::UnboundBuffer> send_;  // destroyed before its memory
  std::unique_ptr<gloo::transport::UnboundBuffer> receive_;
};

}  // namespace

void RingReduceScatter(const std::shared_ptr<gloo::Context>& context, const void* in, void* out,
                       size_t count, size_t element_size, ReduceFunction reduce, uint32_t tag) {
  const char* const input = static_cast<const char*>(in);
  char* const output = static_cast<char*>(out);
  const size_t part_bytes = count * element_size;
  const size_t block_bytes = std::min(part_bytes, kBlockBytes - kBlockBytes % element_size);
  const int last = context->size - 1;
  Ring ring(context.get(), block_bytes, gloo::Slot::build(kReduceScatterSlotPrefix, tag));
  for (size_t offset = 0; offset < part_bytes; offset += block_bytes) {
    const size_t bytes = std::min(block_bytes, part_bytes - offset);
    const auto own = [&](int step) { return input + ring.PartOf(step) * part_bytes + offset; };
    std::copy_n(own(0), bytes, ring.outgoing());
    for (int step = 1; step <= last; ++step) {
      ring.Shift(bytes);
      char* const reduced = step == last ? output + offset : ring.outgoing();
      reduce(reduced, ring.incoming(), own(step), bytes / element_size);
    }
  }
}

}  // namespace muster::internal
