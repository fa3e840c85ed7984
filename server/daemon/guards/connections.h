#ifndef MUSTER_SERVER_DAEMON_GUARDS_CONNECTIONS_H_
#define MUSTER_SERVER_DAEMON_GUARDS_CONNECTIONS_H_

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
#include "server/daemon/guards/byte_pool.h"
#include "server/daemon/guards/client_hello.h"
#include "server/daemon/guards/peer_guard.h"

namespace muster::daemon {

// A connection that gRPC has accepted.
struct Connection {
  Connection(std::string from, BytePool* unadmitted) : peer(std::move(from)), guard(unadmitted) {}

  const std::string peer;  // "10.0.0.7:5512"; empty if the peer is already gone
  ClientHello hello;
  PeerGuard guard;
};

// The connections that gRPC has accepted, by file descriptor. Thread-safe.
class Connections {
 public:
  // Limits the calls of peers that are not admitted yet: they share a pool of `bytes`. Call this
  // before the first connection is accepted.
  void LimitUnadmitted(uint64_t bytes);

  // Note that the socket was accepted, and that it is about to be closed.
  void Begin(int socket);
  void End(int socket);
  // Returns the connection, or null if gRPC did not accept it, like the sockets of the status page.
  std::shared_ptr<Connection> Find(int socket) const;

  // Takes bytes that were read from the socket. Call it from one thread at a time for a connection.
  // For TLS it only looks for the ClientHello; guarded_tls.cc follows the decrypted bytes.
  PeerGuard::Result Received(const std::shared_ptr<Connection>& connection,
                             absl::string_view bytes);
  // Returns the connection whose ClientHello has these random bytes. Returns null if there is none,
  // or if it was returned before.
  std::shared_ptr<Connection> TakeByClientRandom(absl::string_view random);

  // Returns whether there are peers that are not admitted yet. Only then do writes have to be
  // followed.
  bool any_unadmitted() const { return any_unadmitted_; }
  // Admits the peer of a call that has presented its credentials. `peer` returns gRPC's name of the
  // peer. It is called only if there is a peer that is not admitted yet.
  void Admit(absl::FunctionRef<std::string()> peer);

 private:
  void Forget(const Connection& connection);

  std::atomic<bool> any_unadmitted_{false};  // by_peer_ is not empty
  std::unique_ptr<BytePool> unadmitted_;     // null: peers need no admission
  mutable std::mutex mutex_;                 // guards the members below
  absl::flat_hash_map<int, std::shared_ptr<Connection>> by_socket_;
  // Connections of peers that are not admitted yet. A peer has at most one connection to each of
  // the daemon's addresses.
  std::multimap<std::string, std::shared_ptr<Connection>> by_peer_;
  absl::flat_hash_map<std::string, std::shared_ptr<Connection>> by_client_random_;
};

// Returns the connections of this process.
Connections& AllConnections();

// Logs, at most every ten seconds, that the connection was closed for this reason. Thread-safe.
void WarnOfPeer(const Connection& connection, PeerGuard::Result result);

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDS_CONNECTIONS_H_
