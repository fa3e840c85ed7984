#include "server/service/answer_bytes.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::service {
namespace {

struct SharedBytes {
  std::vector<grpc::Slice> slices;
  size_t size = 0;
};

// Refers to the piece, which lives as long as the slice.
grpc::Slice SliceOf(const core::Bytes& piece) {
  auto* const reference = new core::Bytes(piece);
  return grpc::Slice(
      const_cast<char*>(piece->data()), piece->size(),
      [](void* r) { delete static_cast<core::Bytes*>(r); }, reference);
}

std::shared_ptr<const SharedBytes> SharedBytesOf(const Pieces& pieces) {
  auto shared = std::make_shared<SharedBytes>();
  shared->size = SizeOf(pieces);
  for (const core::Bytes& piece : pieces) shared->slices.push_back(SliceOf(piece));
  return shared;
}

// Answers are made by several threads at a time. Two that make the first one at once do the same.
std::shared_ptr<const SharedBytes> FindOrMake(core::EncodingSlot* slot,
                                              absl::FunctionRef<Pieces()> make) {
  if (slot == nullptr) return SharedBytesOf(make());
  std::shared_ptr<const void> known = std::atomic_load(&slot->encoding);
  if (known == nullptr) {
    known = SharedBytesOf(make());
    std::atomic_store(&slot->encoding, known);
  }
  return std::static_pointer_cast<const SharedBytes>(known);
}

absl::Status CheckFitsOneMessage(size_t size) {
  if (size <= std::numeric_limits<int32_t>::max()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the answer has ", size,
                   " bytes, more than one message can carry (2 GiB): lower the "
                   "ranks' payloads, or gather in several steps"));
}

}  // namespace

absl::StatusOr<grpc::ByteBuffer> AnswerBytes(core::EncodingSlot* slot,
                                             absl::FunctionRef<Pieces()> shared,
                                             const std::string& own) {
  const std::shared_ptr<const SharedBytes> bytes = FindOrMake(slot, shared);
  if (absl::Status s = CheckFitsOneMessage(bytes->size + own.size()); !s.ok()) return s;
  std::vector<grpc::Slice> slices = bytes->slices;
  slices.push_back(grpc::Slice(own));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace muster::service
