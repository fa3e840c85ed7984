#include "server/daemon/guards/http2_frame_reader.h"

#include <algorithm>
#include <cstring>

namespace muster::daemon {

std::optional<Http2Frame> Http2FrameReader::Next(absl::string_view* bytes) {
  Skip(bytes);
  if (skip_ > 0 || !ReadHeader(bytes)) return std::nullopt;
  return Begin();
}

void Http2FrameReader::Skip(absl::string_view* bytes) {
  const size_t skipped = std::min<size_t>(skip_, bytes->size());
  bytes->remove_prefix(skipped);
  skip_ -= static_cast<uint32_t>(skipped);
}

// Returns whether the header is complete.
bool Http2FrameReader::ReadHeader(absl::string_view* bytes) {
  const size_t size = std::min<size_t>(header_.size() - header_bytes_, bytes->size());
  std::memcpy(header_.data() + header_bytes_, bytes->data(), size);
  bytes->remove_prefix(size);
  header_bytes_ += static_cast<uint8_t>(size);
  return header_bytes_ == header_.size();
}

Http2Frame Http2FrameReader::Begin() {
  header_bytes_ = 0;
  const auto& h = header_;
  skip_ = h[0] << 16 | h[1] << 8 | h[2];
  const uint32_t stream = static_cast<uint32_t>(h[5] & 0x7f) << 24 | h[6] << 16 | h[7] << 8 | h[8];
  return {skip_, h[3], h[4], stream};
}

}  // namespace muster::daemon
