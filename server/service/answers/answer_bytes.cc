#include "server/service/answers/answer_bytes.h"

#include <cstdint>
#include <limits>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::service {
namespace {

// Most answers have one or two slices, which need no heap allocation.
using Slices = absl::InlinedVector<grpc::Slice, 2>;

// Returns a slice of the chunk's memory. The slice keeps the chunk alive.
grpc::Slice SliceOf(const core::Bytes& chunk) {
  auto* const reference = new core::Bytes(chunk);
  return grpc::Slice(
      const_cast<char*>(chunk->data()), chunk->size(),
      [](void* r) { delete static_cast<core::Bytes*>(r); }, reference);
}

Slices SlicesOf(const MessageChunks& chunks) {
  Slices slices;
  for (const core::Bytes& chunk : chunks) slices.push_back(SliceOf(chunk));
  return slices;
}

// Returns the encoding that the slot holds. If there is none, makes it and stores it in the slot.
// Two threads may both find the slot empty and both make the encoding; the results are equal, so
// either may stay.
Slices FindOrEncode(core::EncodingSlot* slot, absl::FunctionRef<MessageChunks()> make) {
  if (slot == nullptr) return SlicesOf(make());
  std::shared_ptr<const void> known = std::atomic_load(&slot->encoding);
  if (known == nullptr) {
    known = std::make_shared<const Slices>(SlicesOf(make()));
    std::atomic_store(&slot->encoding, known);
  }
  return *static_cast<const Slices*>(known.get());
}

size_t SizeOf(const Slices& slices) {
  size_t size = 0;
  for (const grpc::Slice& slice : slices) size += slice.size();
  return size;
}

absl::Status CheckFitsOneMessage(size_t size) {
  if (size <= std::numeric_limits<int32_t>::max()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the answer has ", size,
                   " bytes, more than one message can carry (2 GiB): lower the "
                   "ranks' payloads, or gather in several steps"));
}

}  // namespace

absl::Status MakeAnswer(core::EncodingSlot* slot, absl::FunctionRef<MessageChunks()> shared,
                        const std::string& own, grpc::ByteBuffer* out) {
  Slices slices = FindOrEncode(slot, shared);
  slices.push_back(grpc::Slice(own));
  if (absl::Status s = CheckFitsOneMessage(SizeOf(slices)); !s.ok()) return s;
  grpc::ByteBuffer(slices.data(), slices.size()).Swap(out);
  return absl::OkStatus();
}

}  // namespace muster::service
