#include "server/journal/records/format.h"

#include <zlib.h>

#include "absl/strings/str_cat.h"

namespace muster::journal {
namespace {

void Append(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

uint32_t Decode(absl::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

uint32_t ChecksumOf(absl::string_view block) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(block.data()), block.size()));
}

std::string EncodeFrame(absl::string_view block) {
  std::string frame;
  Append(static_cast<uint32_t>(block.size()), &frame);
  Append(ChecksumOf(block), &frame);
  return frame;
}

std::optional<Frame> DecodeFrame(absl::string_view bytes) {
  const Frame frame{Decode(bytes), Decode(bytes.substr(4))};
  if (frame.size == 0 || frame.size > kMaxBlockBytes) return std::nullopt;
  return frame;
}

std::string SegmentPath(const std::string& path, int age) {
  return age == 0 ? path : absl::StrCat(path, ".", age);
}

}  // namespace muster::journal
