#include "server/service/answers/answer_bytes.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "muster/v1/calls.pb.h"

namespace muster::service {
namespace {

using google::protobuf::io::CodedOutputStream;
// Most answers have two or three slices, which need no heap allocation.
using Slices = absl::InlinedVector<grpc::Slice, 3>;

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

Slices Join(core::EncodingSlot* slot, absl::FunctionRef<MessageChunks()> shared,
            const std::string& own) {
  Slices slices = FindOrEncode(slot, shared);
  slices.push_back(grpc::Slice(own));
  return slices;
}

absl::Status Store(const Slices& slices, grpc::ByteBuffer* out) {
  if (absl::Status s = CheckFitsOneMessage(SizeOf(slices)); !s.ok()) return s;
  grpc::ByteBuffer(slices.data(), slices.size()).Swap(out);
  return absl::OkStatus();
}

// Returns what a v1::CallResponse has before the content of its last field, which has `size` bytes.
grpc::Slice HeaderOf(int field, size_t size) {
  constexpr uint32_t kLengthDelimited = 2;
  std::array<uint8_t, 16> header;
  uint8_t* end = header.data();
  end =
      CodedOutputStream::WriteTagToArray(static_cast<uint32_t>(field) << 3 | kLengthDelimited, end);
  end = CodedOutputStream::WriteVarint64ToArray(size, end);
  return grpc::Slice(header.data(), end - header.data());
}

}  // namespace

absl::Status MakeAnswer(core::EncodingSlot* slot, absl::FunctionRef<MessageChunks()> shared,
                        const std::string& own, grpc::ByteBuffer* out) {
  return Store(Join(slot, shared, own), out);
}

absl::Status MakeCallResponse(int response, core::EncodingSlot* slot,
                              absl::FunctionRef<MessageChunks()> shared, const std::string& own,
                              grpc::ByteBuffer* out) {
  Slices slices = Join(slot, shared, own);
  slices.insert(slices.begin(), HeaderOf(response, SizeOf(slices)));
  return Store(slices, out);
}

}  // namespace muster::service
