#include "client/gloo/endings/encoded_end_notice.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace muster::internal {

EncodedEndNotice EncodedEndNotice::From(const EndNotice& notice) {
  EncodedEndNotice written{};
  written.rank = notice.rank;
  written.failed = notice.failed ? 1 : 0;
  written.length = static_cast<uint16_t>(std::min(notice.reason.size(), sizeof(written.text)));
  std::memcpy(written.text, notice.reason.data(), written.length);
  written.complete = 1;
  return written;
}

std::optional<EndNotice> EncodedEndNotice::Decode() const {
  if (complete == 0) return std::nullopt;
  return EndNotice{rank, failed != 0, std::string(text, std::min<size_t>(length, sizeof(text)))};
}

}  // namespace muster::internal
