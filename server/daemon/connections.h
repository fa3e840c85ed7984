#ifndef MUSTER_SERVER_DAEMON_CONNECTIONS_H_
#define MUSTER_SERVER_DAEMON_CONNECTIONS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "server/daemon/byte_pool.h"
#include "server/daemon/client_hello.h"
#include "server/daemon/peer_guard.h"

namespace muster::daemon {

// A connection that gRPC has accepted.
struct Connection {
  Connection(std::string from, BytePool* unadmitted) : peer(std::move(from)), guard(unadmitted) {}

  const std::string peer;  // "10.0.0.7:5512"; empty if the peer had gone before it could be asked
  ClientHello hello;
  PeerGuard guard;
};

// All of them, by their file descriptors. Thread-safe.
class Connections {
 public:
  // Lets peers share `bytes` until they are admitted. Call before anything is accepted.
  void BoundUnadmitted(uint64_t bytes);

  // Begin: the socket has been accepted. End: it is about to be closed.
  void Begin(int socket);
  void End(int socket);
  // Returns null if it was not accepted, as the sockets of the page are not.
  std::shared_ptr<Connection> Find(int socket) const;

  // Takes what has been read from the socket, one thread at a time. What is encrypted is followed
  // behind OpenSSL.
  PeerGuard::Verdict Received(const std::shared_ptr<Connection>& connection,
                              absl::string_view bytes);
  // Returns the connection whose TLS client has drawn this. Null if there is none, or if it was
  // asked for before.
  std::shared_ptr<Connection> TakeByRandom(absl::string_view random);

  // Whether what is written to peers must be followed: some have not been admitted yet.
  bool any_unadmitted() const { return any_unadmitted_; }
  // Admits the peer of a call that has shown its credentials. `peer` returns gRPC's name of it, and
  // is called only if some peer has not been admitted yet.
  void Admit(absl::FunctionRef<std::string()> peer);

 private:
  void Forget(const Connection& connection);

  std::atomic<bool> any_unadmitted_{false};  // by_peer_ has one
  std::unique_ptr<BytePool> unadmitted_;     // null: nobody need be admitted
  mutable std::mutex mutex_;                 // guards all below
  absl::flat_hash_map<int, std::shared_ptr<Connection>> by_socket_;
  // The unadmitted ones. A peer has one with each of the daemon's addresses at most.
  std::multimap<std::string, std::shared_ptr<Connection>> by_peer_;
  absl::flat_hash_map<std::string, std::shared_ptr<Connection>> by_random_;
};

// Those of this process.
Connections& AllConnections();

// The connection is closed for this reason: says so in the log, now and then. Thread-safe.
void WarnOfPeer(const Connection& connection, PeerGuard::Verdict verdict);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_CONNECTIONS_H_
