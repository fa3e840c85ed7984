#include "tests/util/network/tcp_proxy.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Moves the available bytes of `from` to `to`. Returns false at the end of `from`.
bool Forward(int from, int to) {
  char buffer[64 << 10];
  const ssize_t got = read(from, buffer, sizeof(buffer));
  if (got <= 0) return false;
  for (ssize_t sent = 0; sent < got;) {
    const ssize_t n = send(to, buffer + sent, got - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += n;
  }
  return true;
}

}  // namespace

struct TcpProxy::Connection {
  ~Connection() {
    Shutdown();
    pump.join();
    close(client);
    close(server);
  }
  void Shutdown() const {
    shutdown(client, SHUT_RDWR);
    shutdown(server, SHUT_RDWR);
  }

  int client = -1;
  int server = -1;
  std::thread pump;
};

TcpProxy::TcpProxy(int target_port)
    : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), target_port_(target_port) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 64), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

TcpProxy::~TcpProxy() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
}

std::string TcpProxy::address() const { return absl::StrCat("127.0.0.1:", port_); }

void TcpProxy::Cut() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& connection : connections_) connection->Shutdown();
}

void TcpProxy::Refuse(bool refuse) {
  std::lock_guard<std::mutex> lock(mutex_);
  refuse_ = refuse;
}

void TcpProxy::Delay(std::chrono::milliseconds delay) {
  std::lock_guard<std::mutex> lock(mutex_);
  delay_ = delay;
}

void TcpProxy::Redirect(int target_port) {
  std::lock_guard<std::mutex> lock(mutex_);
  target_port_ = target_port;
}

void TcpProxy::WaitForConnections(int count) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return static_cast<int>(connections_.size()) >= count; });
}

void TcpProxy::WaitForRefusals(int count) {
  std::unique_lock<std::mutex> lock(mutex_);
  const int enough = refusals_ + count;
  changed_.wait(lock, [&] { return refusals_ >= enough; });
}

void TcpProxy::Accept() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    std::lock_guard<std::mutex> lock(mutex_);
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in target = Loopback(target_port_);
    if (refuse_ ||
        connect(server, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0) {
      close(client);
      close(server);
      ++refusals_;
      changed_.notify_all();
      continue;
    }
    auto connection = std::make_unique<Connection>();
    connection->client = client;
    connection->server = server;
    connection->pump = std::thread(&TcpProxy::Pump, connection.get(), delay_);
    connections_.push_back(std::move(connection));
    changed_.notify_all();
  }
}

void TcpProxy::Pump(Connection* connection, std::chrono::milliseconds delay) {
  std::this_thread::sleep_for(delay);
  pollfd sides[] = {{connection->client, POLLIN, 0}, {connection->server, POLLIN, 0}};
  while (poll(sides, 2, -1) > 0) {
    if (sides[0].revents != 0 && !Forward(connection->client, connection->server)) break;
    if (sides[1].revents != 0 && !Forward(connection->server, connection->client)) break;
  }
  connection->Shutdown();
}

}  // namespace muster::testing
