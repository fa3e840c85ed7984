#include "tests/nccl/real/kernels/transfer/pipe.h"

#include <cstring>

namespace cpu_nccl {
namespace {

// Slices are multiples of 16 elements, except the last slice of a chunk.
constexpr size_t kSliceUnit = 16;

size_t MinSlice(const Block& block, Slices slices, size_t element_bytes) {
  const size_t step = block.comm.buffSizes[NCCL_PROTO_SIMPLE] / NCCL_STEPS / element_bytes;
  return step * slices.steps / 32;
}

ssize_t Moved(ssize_t offset, size_t count) {
  return offset == Move::kNone ? offset : offset + static_cast<ssize_t>(count);
}

}  // namespace

Pipe::Pipe(Block& block, Slices slices, const Reduction& reduction, UserBuffer input,
           UserBuffer output)
    : block_(block),
      slices_(slices),
      reduction_(reduction),
      min_slice_(MinSlice(block, slices, reduction.element_bytes())),
      input_(input),
      output_(output),
      receiver_(block.memory, block.Connection(block.channel.ring.prev, /*is_send=*/false, 0),
                Fifo::kReceive, slices),
      sender_(block.memory, block.Connection(block.channel.ring.next, /*is_send=*/true, 0),
              Fifo::kSend, slices) {}

void Pipe::SetBuffers(UserBuffer input, UserBuffer output) {
  input_ = input;
  output_ = output;
}

bool Pipe::IsInPlace(ssize_t input, ssize_t output) const {
  const size_t bytes = reduction_.element_bytes();
  return input_.device() + input * bytes == output_.device() + output * bytes;
}

// A chunk always takes all its slices, even empty ones, since the proxies were told a number of
// steps.
void Pipe::Run(const Move& move) {
  const size_t count = std::max<ssize_t>(move.count, 0);
  const size_t unit = kSliceUnit * slices_.per_chunk;
  const size_t slice_size = std::max((count + unit - 1) / unit * kSliceUnit, min_slice_);
  Move rest = move;
  for (int slice = 0; slice < slices_.per_chunk; ++slice) {
    const size_t size = std::min(slice_size, static_cast<size_t>(std::max<ssize_t>(rest.count, 0)));
    RunSlice(rest, size);
    rest.count -= size;
    rest.input = Moved(rest.input, size);
    rest.output = Moved(rest.output, size);
  }
}

void Pipe::RunSlice(const Move& move, size_t count) {
  const size_t bytes = count * reduction_.element_bytes();
  if (move.receive) block_.waits.Until([this] { return receiver_.Ready(); });
  if (move.send) block_.waits.Until([this] { return sender_.Ready(); });
  if (move.send) sender_.TellProxy(bytes);
  if (count > 0 && !block_.waits.aborted()) Compute(move, count);
  if (move.receive) receiver_.Post();
  if (move.send) sender_.Post();
}

void Pipe::Compute(const Move& move, size_t count) {
  const size_t bytes = reduction_.element_bytes();
  const char* const received = move.receive ? receiver_.Slot(count * bytes) : nullptr;
  char* const sent = move.send ? sender_.Slot(count * bytes) : nullptr;
  Operands operands;
  operands.count = count;
  operands.first_is_input = move.input != Move::kNone;
  operands.first = operands.first_is_input ? input_.At(move.input * bytes) : received;
  operands.second = operands.first_is_input ? received : nullptr;
  operands.last = move.last;
  char* const kept = move.output == Move::kNone ? nullptr : output_.At(move.output * bytes);
  operands.to = sent != nullptr ? sent : kept;
  reduction_.Run(operands);
  if (sent != nullptr && kept != nullptr) std::memcpy(kept, sent, count * bytes);
}

}  // namespace cpu_nccl
