#include "client/gloo/endings/written_words.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace muster::internal {

WrittenWords WrittenWords::Of(const PeerEnd& words) {
  WrittenWords written{};
  written.rank = words.rank;
  written.failed = words.failed ? 1 : 0;
  written.length = static_cast<uint16_t>(std::min(words.reason.size(), sizeof(written.text)));
  std::memcpy(written.text, words.reason.data(), written.length);
  written.complete = 1;
  return written;
}

std::optional<PeerEnd> WrittenWords::Read() const {
  if (complete == 0) return std::nullopt;
  return PeerEnd{rank, failed != 0, std::string(text, std::min<size_t>(length, sizeof(text)))};
}

}  // namespace muster::internal
