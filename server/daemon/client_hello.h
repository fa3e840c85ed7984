#ifndef MUSTER_SERVER_DAEMON_CLIENT_HELLO_H_
#define MUSTER_SERVER_DAEMON_CLIENT_HELLO_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::daemon {

// What a connection begins with. Where that is a ClientHello of TLS (RFC 8446), it holds 32 bytes
// that the client has drawn at random: OpenSSL, which knows nothing of sockets here, can say of
// each of its connections what these were.
class ClientHello {
 public:
  static constexpr size_t kRandomBytes = 32;

  // Takes the connection's next bytes. Returns true when they complete the random ones.
  bool Read(absl::string_view bytes);

  // The connection is one of TLS; false before its first byte. Any thread may ask.
  bool encrypted() const { return encrypted_; }
  // Empty until they are complete.
  absl::string_view random() const;

 private:
  std::string begin_;
  std::atomic<bool> encrypted_{false};
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_CLIENT_HELLO_H_
