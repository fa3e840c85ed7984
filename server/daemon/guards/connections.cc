#include "server/daemon/guards/connections.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/names/host_port.h"
#include "spdlog/spdlog.h"

namespace muster::daemon {
namespace {

constexpr absl::Duration kWarningInterval = absl::Seconds(10);

// Returns the address as gRPC writes it: an IPv4 address stays one even if IPv6 carries it. Drops
// the zone, which says nothing about the peer.
std::string KeyOf(absl::string_view host, int port) {
  absl::ConsumePrefix(&host, "::ffff:");
  return HostPort{std::string(host.substr(0, host.find('%'))), port}.ToString();
}

// Returns the peer's address, or "" if the peer is gone.
std::string PeerOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  int number = 0;
  if (getpeername(socket, generic, &size) != 0 ||
      getnameinfo(generic, size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0 ||
      !absl::SimpleAtoi(port, &number)) {
    return "";
  }
  return KeyOf(host, number);
}

// A limit on how often a kind of line is logged.
class LogThrottle {
 public:
  bool AllowsLine() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const absl::Time now = absl::Now();
    if (now - last_ < kWarningInterval) return false;
    last_ = now;
    return true;
  }

 private:
  std::mutex mutex_;
  absl::Time last_ = absl::InfinitePast();
};

void WarnOfLongHeaders() {
  static LogThrottle throttle;
  if (!throttle.AllowsLine()) return;
  spdlog::warn(
      "the daemon has closed a connection whose peer sent request headers of more than {} KiB; "
      "see what connects to it",
      HeaderGuard::kMaxBytes >> 10);
}

void WarnOfUnadmittedPeer(const std::string& peer) {
  static LogThrottle throttle;
  if (!throttle.AllowsLine()) return;
  spdlog::warn(
      "the daemon has closed the connection of {}: its calls hold more than {} KiB without "
      "credentials, and the memory for such connections is used up; see what connects to it",
      peer.empty() ? "a peer" : peer, OpenCalls::kOwnBytes >> 10);
}

}  // namespace

void Connections::LimitUnadmitted(uint64_t bytes) {
  unadmitted_ = std::make_unique<BytePool>(bytes);
}

void Connections::Begin(int socket) {
  const auto connection = std::make_shared<Connection>(PeerOf(socket), unadmitted_.get());
  const std::lock_guard<std::mutex> lock(mutex_);
  by_socket_[socket] = connection;
  if (unadmitted_ == nullptr) return;
  by_peer_.emplace(connection->peer, connection);
  any_unadmitted_ = true;
}

void Connections::End(int socket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto ended = by_socket_.extract(socket);
  if (!ended.empty()) Forget(*ended.mapped());
}

void Connections::Forget(const Connection& connection) {
  const auto [begin, end] = by_peer_.equal_range(connection.peer);
  const auto its = std::find_if(
      begin, end, [&](const auto& entry) { return entry.second.get() == &connection; });
  if (its != end) by_peer_.erase(its);
  any_unadmitted_ = !by_peer_.empty();
  // Another client may have sent the same random bytes.
  const auto found = by_client_random_.find(connection.hello.random());
  if (found != by_client_random_.end() && found->second.get() == &connection)
    by_client_random_.erase(found);
}

std::shared_ptr<Connection> Connections::Find(int socket) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = by_socket_.find(socket);
  return entry == by_socket_.end() ? nullptr : entry->second;
}

PeerGuard::Result Connections::Received(const std::shared_ptr<Connection>& connection,
                                        absl::string_view bytes) {
  if (connection->hello.Read(bytes)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    by_client_random_.emplace(connection->hello.random(), connection);
  }
  if (connection->hello.encrypted()) return PeerGuard::Result::kOk;
  return connection->guard.Received(bytes);
}

std::shared_ptr<Connection> Connections::TakeByClientRandom(absl::string_view random) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = by_client_random_.extract(random);
  return entry.empty() ? nullptr : entry.mapped();
}

void Connections::Admit(absl::FunctionRef<std::string()> peer) {
  if (!any_unadmitted_) return;
  const std::optional<HostPort> address = ParsePeer(peer());
  if (!address) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [begin, end] = by_peer_.equal_range(KeyOf(address->host, address->port));
  std::for_each(begin, end, [](const auto& entry) { entry.second->guard.Admit(); });
  by_peer_.erase(begin, end);
  any_unadmitted_ = !by_peer_.empty();
}

// Never deleted: gRPC's threads may read until the process ends.
Connections& AllConnections() {
  static Connections* const connections = new Connections();
  return *connections;
}

void WarnOfPeer(const Connection& connection, PeerGuard::Result result) {
  if (result == PeerGuard::Result::kHeadersTooLong) WarnOfLongHeaders();
  if (result == PeerGuard::Result::kTooMuchMemory) WarnOfUnadmittedPeer(connection.peer);
}

}  // namespace muster::daemon
