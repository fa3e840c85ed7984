#include "client/gloo/connections/mesh.h"

#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/gloo/connections/interruptible_transport.h"
#include "client/gloo/endings/exception.h"
#include "client/src/data_plane/broken_peers.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"
#include "common/process/start_thread.h"
#include "gloo/common/error.h"
#include "gloo/transport/tcp/device.h"

namespace muster::internal {
namespace {

constexpr absl::string_view kOperation = "connecting the communicator";

// A Gloo context over connections that exist already.
class ConnectedContext final : public gloo::Context {
 public:
  explicit ConnectedContext(std::shared_ptr<gloo::transport::Context> transport)
      : Context(transport->rank, transport->size) {
    transportContext_ = std::move(transport);
  }
};

// Returns a device that listens at `address`. Passes the address itself: Gloo's own look-up by name
// or interface might choose another address of an interface with several.
std::shared_ptr<gloo::transport::Device> MakeDevice(const NetworkAddress& address) {
  gloo::transport::tcp::attr attr;
  attr.hostname = address.text;
  attr.iface = address.interface;
  attr.ai_family = address.socket_address.ss_family;
  attr.ai_socktype = SOCK_STREAM;
  attr.ai_protocol = 0;
  std::memcpy(&attr.ai_addr, &address.socket_address, address.length);
  attr.ai_addrlen = static_cast<int>(address.length);
  return std::make_shared<gloo::transport::tcp::Device>(attr);
}

// Wakes a connect that waits for its peer, by closing all pairs.
class ConnectingPairs final : public Interruptible {
 public:
  ConnectingPairs(gloo::transport::Context* context, Interrupter* interrupter)
      : context_(context), interrupter_(interrupter) {
    interrupter_->Add(this);
  }
  ~ConnectingPairs() { interrupter_->Remove(this); }

  void Interrupt() override {
    for (int rank = 0; rank < context_->size; ++rank) {
      if (rank != context_->rank) context_->getPair(rank)->close();
    }
  }

 private:
  gloo::transport::Context* const context_;
  Interrupter* const interrupter_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Mesh>> Mesh::Listen(const Group& group,
                                                   const NetworkAddress& address,
                                                   Interrupter* interrupter) {
  std::unique_ptr<Mesh> mesh(new Mesh(group, interrupter));
  try {
    mesh->Open(address);
  } catch (const std::system_error& error) {
    // Gloo throws system_error here only if it cannot start its thread.
    return ThreadStartError(
        absl::StrCat("serve the connections of ", DescribePeer(group, group.rank())), error);
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("cannot listen for peers at ", address.text, " (",
                                               address.interface, "): ", ReasonOf(error)));
  }
  return mesh;
}

Mesh::~Mesh() = default;

void Mesh::Open(const NetworkAddress& address) {
  own_ = MakeGlooPeerInfo(address);
  for (int i = 0; i < group_.size(); ++i) own_.add_endpoints();
  transport_ = MakeDevice(address)->createContext(group_.rank(), group_.size());
  transport_->setTimeout(gloo::kNoTimeout);  // only the interrupter ends waits
  for (int peer = 0; peer < group_.size(); ++peer) {
    if (peer == group_.rank()) continue;
    const std::vector<char> endpoint = transport_->createPair(peer)->address().bytes();
    own_.mutable_endpoints(peer)->assign(endpoint.begin(), endpoint.end());
  }
}

absl::Status Mesh::Connect(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline) {
  if (absl::Status status = ConnectAll(infos, deadline); !status.ok()) return status;
  connection_monitor_ = std::make_unique<ConnectionMonitor>(transport_);
  context_ = std::make_shared<ConnectedContext>(
      std::make_shared<InterruptibleContext>(transport_, interrupter_));
  return absl::OkStatus();
}

absl::Status Mesh::ConnectAll(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline) {
  const ConnectingPairs interruptible(transport_.get(), interrupter_);
  for (int peer = 0; peer < group_.size(); ++peer) {
    if (peer == group_.rank()) continue;
    if (interrupter_->raised()) return NotConnected(peer);
    if (absl::Status status = ConnectTo(peer, infos, deadline); !status.ok()) return status;
    if (interrupter_->raised()) return NotConnected(peer);
  }
  return absl::OkStatus();
}

absl::Status Mesh::ConnectTo(int peer, const std::vector<GlooPeerInfo>& infos,
                             const Deadline& deadline) {
  const std::string& endpoint = infos[peer].endpoints(group_.rank());
  try {
    transport_->getPair(peer)->connect(std::vector<char>(endpoint.begin(), endpoint.end()));
  } catch (const std::exception& error) {
    if (interrupter_->raised()) return NotConnected(peer);
    return ExplainBrokenConnection(group_, peer, kOperation,
                                   absl::StrCat("cannot connect from ", own_.address(), " to ",
                                                infos[peer].address(), ": ", ReasonOf(error)),
                                   deadline.Remaining());
  }
  return absl::OkStatus();
}

// Returns the error of an interrupted Connect(). Peers are connected in the order of their ranks,
// so the peers from `first` on are not connected.
absl::Status Mesh::NotConnected(int first) const {
  const absl::Status why = interrupter_->status();
  if (!why.message().empty()) return why;
  std::vector<int> missing;
  for (int peer = first; peer < group_.size(); ++peer) {
    if (peer != group_.rank()) missing.push_back(peer);
  }
  const absl::Status error(
      why.code(), absl::StrCat(kOperation, " from ", own_.address(), " (", own_.interface(), ")",
                               " ended before this rank was ", "connected to ",
                               DescribePeers(group_, missing)));
  return absl::IsDeadlineExceeded(error) ? WithMissing(group_, missing, error) : error;
}

}  // namespace muster::internal
