#include "server/web/http_server.h"

#include <netdb.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/ip/v6_only.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/asio/strand.hpp"
#include "server/service/base/listen_address.h"
#include "server/web/served_connection.h"

namespace muster::web {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Threads make pages, and never wait for a client. Browsers may open connections that they do not
// use.
constexpr int kThreads = 4;
constexpr int kMaxConnections = 48;
constexpr int kOwnDescriptors = 8;  // the listener, and Asio's epoll, timer and wake-up
static_assert(kMaxConnections + kOwnDescriptors <= HttpServer::kMaxDescriptors);
constexpr std::chrono::milliseconds kAcceptRetryDelay{100};

// Returns the address with its host as a number.
absl::StatusOr<HostPort> Resolve(const HostPort& address, const std::string& flag) {
  if (address.is_ipv4() || address.is_ipv6()) return address;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), nullptr, &hints, &found) != 0) {
    return service::ExplainListenFailure(address, flag);
  }
  char host[NI_MAXHOST] = "";
  getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  return HostPort{host, address.port};
}

// Opens the listener. [::] also accepts IPv4, as gRPC's listener does.
error_code Open(const HostPort& address, tcp::acceptor* acceptor) {
  error_code error;
  const asio::ip::address host = asio::ip::make_address(address.host, error);
  const tcp::endpoint endpoint(host, static_cast<uint16_t>(address.port));
  if (!error) acceptor->open(endpoint.protocol(), error);
  if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && host.is_v6() && host.is_unspecified()) {
    acceptor->set_option(asio::ip::v6_only(false), error);
  }
  if (!error) acceptor->bind(endpoint, error);
  if (!error) acceptor->listen(tcp::acceptor::max_listen_connections, error);
  return error;
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(HttpOptions options) : state_{std::move(options)} {}

  // Connections that are still open are closed with context_, which owns their handlers.
  ~Impl() {
    stopping_ = true;
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  absl::Status Listen() {
    const HttpOptions& options = state_.options;
    absl::StatusOr<HostPort> address = Resolve(options.address, options.flag);
    if (!address.ok()) return address.status();
    address_ = *std::move(address);
    state_.loopback_only = service::IsLoopback(address_);
    if (Open(address_, &acceptor_)) {
      return service::ExplainListenFailure(options.address, options.flag);
    }
    address_.port = acceptor_.local_endpoint().port();
    Accept();
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
    return absl::OkStatus();
  }

  const HostPort& address() const { return address_; }

 private:
  void Run() {
    while (!context_.stopped()) {
      try {
        context_.run();
      } catch (const std::exception& e) {  // no memory left
        state_.options.logger->error("a request for a page has failed: {}", e.what());
      }
    }
  }

  // Accept(), OnAccepted(), OnClosed() and AcceptLater() run on the acceptor's strand, except for
  // the first Accept().
  void Accept() {
    acceptor_.async_accept(
        asio::make_strand(context_),
        [this](error_code error, tcp::socket socket) { OnAccepted(error, std::move(socket)); });
  }

  void OnAccepted(const error_code& error, tcp::socket socket) {
    if (error) return AcceptLater(error);
    if (++open_ < kMaxConnections) Accept();  // further clients wait in the system's queue
    ServeConnection(std::move(socket), state_, [this] {
      if (!stopping_) asio::post(acceptor_.get_executor(), [this] { OnClosed(); });
    });
  }

  void OnClosed() {
    if (open_-- == kMaxConnections) Accept();
  }

  // Accepts again after a pause. Some errors, such as a lack of file descriptors, would come again
  // at once.
  void AcceptLater(const error_code& error) {
    state_.options.logger->debug("HTTP: cannot accept a connection: {}", error.message());
    pause_.expires_after(kAcceptRetryDelay);
    pause_.async_wait([this](const error_code& /*none*/) { Accept(); });
  }

  HttpServerState state_;
  HostPort address_;
  std::atomic<bool> stopping_{false};
  asio::io_context context_{kThreads};
  tcp::acceptor acceptor_{asio::make_strand(context_)};
  asio::steady_timer pause_{acceptor_.get_executor()};
  int open_ = 0;
  std::vector<std::thread> threads_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (absl::Status s = impl->Listen(); !s.ok()) return s;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

const HostPort& HttpServer::address() const { return impl_->address(); }

}  // namespace muster::web
