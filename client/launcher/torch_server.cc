#include "client/launcher/torch_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "client/launcher/job_key_store.h"
#include "client/launcher/plan/master_port.h"
#include "client/launcher/torch/address_cache.h"
#include "client/launcher/torch/local_key_store.h"

namespace muster::launcher {
namespace {

// Of a connection with more unsent or unserved bytes than this, no more requests are served or read
// until some are sent or served.
constexpr size_t kEnough = 1 << 20;

// How long the launcher polls for the next request without blocking. A client of PyTorch's that has
// its answer often sends another request at once.
constexpr absl::Duration kAwakeAfterRequest = absl::Microseconds(50);

bool IsServedHere(const JobPlan& plan) {
  return plan.torch_store == TorchStore::kLoopback ||
         (plan.torch_store == TorchStore::kNode0 && plan.node_rank == 0);
}

// Only with an endpoint on each of several nodes do launchers share the keys.
std::unique_ptr<torch::KeyStore> MakeStore(const JobPlan& plan, JobStoreClient* client) {
  const bool shared = plan.nnodes > 1 && plan.torch_store == TorchStore::kLoopback;
  if (shared) return std::make_unique<torch::AddressCache>(std::make_unique<JobKeyStore>(client));
  return std::make_unique<torch::LocalKeyStore>();
}

// Listens on the IPv4 loopback interface, or on all interfaces for IPv4 and, if the machine has it,
// IPv6. The error is the system's text.
absl::StatusOr<int> ListenOn(bool loopback, int port) {
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<uint16_t>(port));
  sockaddr_in one = {};
  one.sin_family = AF_INET;
  one.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
  one.sin_port = htons(static_cast<uint16_t>(port));
  constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  int fd = loopback ? -1 : socket(AF_INET6, kType, 0);
  const bool six = fd >= 0;
  if (!six) fd = socket(AF_INET, kType, 0);
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (six) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  const auto* const address =
      six ? reinterpret_cast<const sockaddr*>(&any) : reinterpret_cast<const sockaddr*>(&one);
  const socklen_t size = six ? sizeof(any) : sizeof(one);
  if (fd >= 0 && bind(fd, address, size) == 0 && listen(fd, SOMAXCONN) == 0) return fd;
  const std::string why = strerror(errno);
  if (fd >= 0) close(fd);
  return absl::UnavailableError(why);
}

int PortOf(int listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string PrefixOf(int generation) { return absl::StrCat("torch/", generation, "/"); }

}  // namespace

TorchServer::TorchServer(JobPlan* plan, JobStoreClient* store, EventLoop* loop, Say say)
    : plan_(*plan), client_(store), loop_(loop), say_(std::move(say)) {}

TorchServer::~TorchServer() { Close(); }

absl::Status TorchServer::BeginWorld() {
  if (plan_.torch_store == TorchStore::kOff) return absl::OkStatus();
  ++generation_;
  plan_.torch_generation = generation_;
  if (!IsServedHere(plan_)) {
    plan_.torch_port = MasterPort(plan_);
    return absl::OkStatus();
  }
  if (listener_ < 0) {
    if (absl::Status listens = Listen(); !listens.ok()) return listens;
  }
  for (const auto& [number, connection] : connections_) Disconnect(number, connection.get());
  for (const auto& [id, number] : operations_) store_->Cancel(id);
  connections_.clear();
  operations_.clear();
  unserved_ = 0;
  if (store_ != nullptr && store_->fd() >= 0) return absl::OkStatus();  // has other keys now
  store_ = MakeStore(plan_, client_);
  if (store_->fd() >= 0) loop_->Watch(store_->fd(), [this] { TakeEnded(); });
  return absl::OkStatus();
}

absl::Status TorchServer::Listen() {
  const bool loopback = plan_.torch_store == TorchStore::kLoopback;
  int port = plan_.master_port.value_or(0);
  if (!loopback && plan_.nnodes > 1) port = MasterPort(plan_);
  const absl::StatusOr<int> listener = ListenOn(loopback, port);
  if (!listener.ok()) {
    return absl::UnavailableError(absl::StrCat(
        "--torch-store: cannot listen on port ", port, ": ", listener.status().message(),
        port == 0 ? "" : "; choose another one by --master-port, the same on every node"));
  }
  listener_ = *listener;
  plan_.torch_port = PortOf(listener_);
  loop_->Watch(listener_, [this] { OnConnection(); });
  return absl::OkStatus();
}

void TorchServer::Close() {
  for (const auto& [number, connection] : connections_) Disconnect(number, connection.get());
  connections_.clear();
  operations_.clear();
  if (listener_ >= 0) {
    loop_->Forget(listener_);
    close(std::exchange(listener_, -1));
  }
  if (store_ != nullptr && store_->fd() >= 0) loop_->Forget(store_->fd());
  store_.reset();
}

// ---- Connections ----

void TorchServer::OnConnection() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  if (connections_.size() >= kMaxConnections) {
    close(fd);
    if (std::exchange(announced_full_, true)) return;
    return say_(absl::StrCat("--torch-store: refuses further connections of PyTorch programs: ",
                             kMaxConnections, " are open"));
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const uint64_t number = next_connection_++;
  auto connection = std::make_unique<Connection>(PrefixOf(generation_), &next_operation_);
  connection->fd = fd;
  Connection* const added = connection.get();
  connections_.emplace(number, std::move(connection));
  Watch(number, added);
}

void TorchServer::OnReady(uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end() || found->second->fd < 0) return;
  Connection* const connection = found->second.get();
  if (!Write(connection) || (connection->reads && !Read(number, connection))) {
    Disconnect(number, connection);
    CarryOut(number, connection->session.Disconnect());
  }
  Settle(number);
  TakeEnded();
}

bool TorchServer::Read(uint64_t number, Connection* connection) {
  std::array<char, 65536> bytes;
  const ssize_t size = recv(connection->fd, bytes.data(), bytes.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  CarryOut(number, connection->session.Receive({bytes.data(), static_cast<size_t>(size)}));
  loop_->StayAwake(kAwakeAfterRequest);
  return true;
}

bool TorchServer::Write(Connection* connection) {
  size_t done = 0;
  while (done < connection->out.size()) {
    const ssize_t sent = send(connection->fd, connection->out.data() + done,
                              connection->out.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) break;
    done += sent;
  }
  connection->out.erase(0, done);
  return true;
}

void TorchServer::Settle(uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  Connection* const connection = found->second.get();
  if (connection->fd >= 0 && !Write(connection)) {
    Disconnect(number, connection);
    CarryOut(number, connection->session.Disconnect());
  }
  if (connection->fd >= 0 && connection->out.size() <= kEnough) {
    CarryOut(number, connection->session.Resume());
  }
  unserved_ -= connection->unserved;
  connection->unserved = connection->session.buffered();
  unserved_ += connection->unserved;
  if (connection->fd >= 0 && unserved_ > kMaxUnservedBytes && connection->unserved > kEnough) {
    CarryOut(number, torch::CloseConnection{absl::StrCat("all connections together have more than ",
                                                         kMaxUnservedBytes,
                                                         " bytes of requests that wait")});
  }
  if (connection->fd >= 0) return Watch(number, connection);
  if (!connection->session.finished()) return;
  unserved_ -= connection->unserved;
  connections_.erase(number);
}

void TorchServer::Watch(uint64_t number, Connection* connection) {
  const torch::Session& session = connection->session;
  const bool waits = session.busy() || connection->out.size() > kEnough;
  const bool reads = !waits || session.buffered() <= kEnough;
  const bool writes = !connection->out.empty();
  if (reads == connection->reads && writes == connection->writes) return;
  connection->reads = reads;
  connection->writes = writes;
  if (!reads && !writes) return loop_->Forget(connection->fd);
  loop_->WatchFor(connection->fd, reads, writes, [this, number] { OnReady(number); });
}

void TorchServer::Disconnect(uint64_t /*number*/, Connection* connection) {
  if (connection->fd < 0) return;
  loop_->Forget(connection->fd);
  close(std::exchange(connection->fd, -1));
  connection->out.clear();
}

// ---- The store ----

void TorchServer::CarryOut(uint64_t number, torch::Effects effects) {
  for (torch::Effect& effect : effects) CarryOut(number, std::move(effect));
}

void TorchServer::CarryOut(uint64_t number, torch::Effect effect) {
  Connection* const connection = connections_.at(number).get();
  if (auto* const bytes = std::get_if<torch::SendBytes>(&effect)) {
    connection->out.empty() ? connection->out.swap(bytes->bytes)
                            : void(connection->out += bytes->bytes);
    if (connection->out.size() > kEnough) connection->session.Pause();
  } else if (auto* const begin = std::get_if<torch::BeginOperation>(&effect)) {
    operations_.emplace(begin->id, number);
    store_->Begin(begin->id, std::move(begin->operation));
  } else if (const auto* cancel = std::get_if<torch::CancelOperation>(&effect)) {
    store_->Cancel(cancel->id);
  } else if (connection->fd >= 0) {
    say_(absl::StrCat("--torch-store: closed a connection of a PyTorch program: ",
                      std::get<torch::CloseConnection>(effect).reason));
    Write(connection);
    Disconnect(number, connection);
    CarryOut(number, connection->session.Disconnect());
  }
}

void TorchServer::TakeEnded() {
  if (std::exchange(taking_ended_, true)) return;
  for (;;) {
    std::vector<torch::KeyStore::Ended> all = store_->TakeEnded();
    if (all.empty()) break;
    for (torch::KeyStore::Ended& ended : all) {
      const auto operation = operations_.extract(ended.id);
      if (operation.empty()) continue;  // of an earlier world
      const uint64_t number = operation.mapped();
      Connection* const connection = connections_.at(number).get();
      CarryOut(number, connection->session.Ended(ended.id, std::move(ended.answer)));
      Settle(number);
    }
  }
  taking_ended_ = false;
}

}  // namespace muster::launcher
