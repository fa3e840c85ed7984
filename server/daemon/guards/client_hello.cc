#include "server/daemon/guards/client_hello.h"

#include <algorithm>

namespace muster::daemon {
namespace {

// The first byte of a TLS handshake record. A plaintext connection begins with "PRI"; gRPC closes
// any other.
constexpr char kTlsHandshake = 0x16;
// After the headers of the record and of the message, and the message's version.
constexpr size_t kRandomBegins = 5 + 4 + 2;
constexpr size_t kRandomEnds = kRandomBegins + ClientHello::kRandomBytes;

}  // namespace

bool ClientHello::Read(absl::string_view bytes) {
  if (begin_.size() == kRandomEnds || bytes.empty()) return false;
  begin_.append(bytes.data(), std::min(bytes.size(), kRandomEnds - begin_.size()));
  encrypted_ = begin_.front() == kTlsHandshake;
  return encrypted_ && begin_.size() == kRandomEnds;
}

absl::string_view ClientHello::random() const {
  if (!encrypted_ || begin_.size() < kRandomEnds) return "";
  return absl::string_view(begin_).substr(kRandomBegins);
}

}  // namespace muster::daemon
