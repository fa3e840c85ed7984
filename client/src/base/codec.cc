#include "muster/codec.h"

namespace muster::internal {

absl::Status TruncatedValue(absl::string_view type, size_t want, size_t have) {
  return absl::InvalidArgumentError(
      absl::StrCat("a ", type, " takes ", want, " bytes, but the message ends after ", have));
}

void AppendLength(size_t length, std::string* out) {
  const uint64_t wide = length;
  out->append(reinterpret_cast<const char*>(&wide), sizeof(wide));
}

absl::StatusOr<size_t> ReadLength(absl::string_view* in, absl::string_view type) {
  uint64_t length;
  if (in->size() < sizeof(length)) return TruncatedValue(type, sizeof(length), in->size());
  std::memcpy(&length, in->data(), sizeof(length));
  in->remove_prefix(sizeof(length));
  if (length > in->size()) return TruncatedValue(type, length, in->size());
  return static_cast<size_t>(length);
}

std::string ArithmeticTypeName(bool is_float, bool is_signed, size_t size) {
  return absl::StrCat(is_float ? "float" : is_signed ? "int" : "uint", 8 * size);
}

}  // namespace muster::internal
