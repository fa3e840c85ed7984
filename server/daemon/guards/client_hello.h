#ifndef MUSTER_SERVER_DAEMON_GUARDS_CLIENT_HELLO_H_
#define MUSTER_SERVER_DAEMON_GUARDS_CLIENT_HELLO_H_

#include <atomic>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::daemon {

// The first bytes of a connection. If they are a TLS ClientHello (RFC 8446), they hold 32 random
// bytes of the client. OpenSSL knows no sockets here, but it can report these bytes for each of its
// sessions. So they tell which session belongs to which connection.
class ClientHello {
 public:
  static constexpr size_t kRandomBytes = 32;

  // Takes the connection's next bytes. Returns true if they complete the random bytes.
  bool Read(absl::string_view bytes);

  // Returns whether the connection uses TLS; false before its first byte. Callable from any thread.
  bool encrypted() const { return encrypted_; }
  // Returns the random bytes, or "" until they are complete.
  absl::string_view random() const;

 private:
  std::string begin_;
  std::atomic<bool> encrypted_{false};
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDS_CLIENT_HELLO_H_
