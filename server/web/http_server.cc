#include "server/web/http_server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "civetweb.h"
#include "server/service/listen_address.h"
#include "server/web/answer.h"

namespace muster::web {
namespace {

// Each connection has a thread until it ends, and browsers open some of which they may make no use.
constexpr int kThreads = 32;
constexpr int kQueue = 16;
static_assert(kThreads + kQueue < HttpServer::kMostDescriptors);
constexpr int kMaxRequestBytes = 16384;

// The numbers of an address: CivetWeb takes apart what is not one in its own way.
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

// All addresses of IPv6 are those of IPv4, too, as they are for gRPC.
std::string ListeningPort(const HostPort& address) {
  return address.host == "::" ? absl::StrCat("+", address.port) : address.ToString();
}

std::map<std::string, std::string> Parameters(const char* query) {
  std::map<std::string, std::string> parameters;
  if (query == nullptr) return parameters;
  std::string text = query;
  std::vector<mg_header> fields(MG_MAX_HEADERS);
  const int count =
      mg_split_form_urlencoded(text.data(), fields.data(), static_cast<unsigned>(fields.size()));
  for (int i = 0; i < count; ++i) {
    parameters.emplace(fields[i].name, fields[i].value == nullptr ? "" : fields[i].value);
  }
  return parameters;
}

Request ToRequest(const mg_request_info& info) {
  Request request{info.local_uri, Parameters(info.query_string), {}};
  for (int i = 0; i < info.num_headers; ++i) {
    request.headers.emplace(absl::AsciiStrToLower(info.http_headers[i].name),
                            info.http_headers[i].value);
  }
  return request;
}

using Clock = std::chrono::steady_clock;

// In pieces, between which the time is looked at: CivetWeb's time-out begins anew with whatever the
// client takes. What a client does not take in time it does not get.
void SendBody(mg_connection* connection, absl::string_view body, absl::Duration patience) {
  constexpr size_t kPiece = 8192;
  const Clock::time_point deadline = Clock::now() + absl::ToChronoNanoseconds(patience);
  while (!body.empty() && Clock::now() < deadline) {
    const absl::string_view piece = body.substr(0, kPiece);
    if (mg_write(connection, piece.data(), piece.size()) < static_cast<int>(piece.size())) return;
    body.remove_prefix(piece.size());
  }
}

// A connection that is closed with something unread is reset, and its client may miss the answer.
// No page takes a body, so one that does not end soon is not read to its end.
void DiscardBody(mg_connection* connection, absl::Duration patience) {
  const Clock::time_point deadline = Clock::now() + absl::ToChronoNanoseconds(patience);
  char buffer[8192];
  while (mg_read(connection, buffer, sizeof(buffer)) > 0 && Clock::now() < deadline) {
  }
}

void Send(mg_connection* connection, const Response& response, bool with_body,
          absl::Duration patience) {
  mg_response_header_start(connection, response.status);
  const auto add = [&](const std::string& name, const std::string& value) {
    mg_response_header_add(connection, name.c_str(), value.c_str(), -1);
  };
  add("Content-Type", response.content_type);
  add("Content-Length", absl::StrCat(response.body.size()));
  for (const auto& [name, value] : SecurityHeaders()) add(name, value);
  for (const auto& [name, value] : response.headers) add(name, value);
  mg_response_header_send(connection);
  if (with_body) SendBody(connection, response.body, patience);
  mg_disable_connection_keep_alive(connection);  // else CivetWeb reads a body to its end
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(HttpOptions options) : options_(std::move(options)) { mg_init_library(0); }

  ~Impl() {
    if (context_ != nullptr) mg_stop(context_);
    mg_exit_library();
  }

  absl::Status Listen() {
    absl::StatusOr<HostPort> address = Resolve(options_.address, options_.flag);
    if (!address.ok()) return address.status();
    address_ = *std::move(address);
    only_this_machine_ = service::IsLoopback(address_);
    context_ = StartCivetweb();
    if (context_ == nullptr) return service::ExplainListenFailure(options_.address, options_.flag);
    mg_server_port port = {};
    if (mg_get_server_ports(context_, 1, &port) == 1) address_.port = port.port;
    return absl::OkStatus();
  }

  const HostPort& address() const { return address_; }

 private:
  static Impl& Of(const mg_connection* connection) {
    return *static_cast<Impl*>(mg_get_user_data(mg_get_context(connection)));
  }

  // CivetWeb's own answer to what is no HTTP, with the words and headers of all others.
  static int OnError(mg_connection* connection, int status, const char* /*text*/) noexcept {
    Send(connection, Refusal(status), /*with_body=*/true, Of(connection).options_.answer_patience);
    return 0;
  }

  static int OnRequest(mg_connection* connection) noexcept {
    const mg_request_info* info = mg_get_request_info(connection);
    const HttpOptions& options = Of(connection).options_;
    const Response response = Of(connection).Answer(*info);
    Send(connection, response, absl::string_view(info->request_method) != "HEAD",
         options.answer_patience);
    if (info->content_length > 0) DiscardBody(connection, options.patience);
    return response.status;
  }

  static int OnMessage(const mg_connection* connection, const char* message) noexcept {
    Of(connection).options_.logger->debug("HTTP: {}", message);
    return 1;  // it is written
  }

  Response Answer(const mg_request_info& info) const noexcept {
    try {
      return AnswerTo({options_.pages, only_this_machine_}, info.request_method, ToRequest(info));
    } catch (const std::exception& e) {
      options_.logger->error("the page {} could not be made: {}", info.local_uri, e.what());
    } catch (...) {
      options_.logger->error("the page {} could not be made", info.local_uri);
    }
    return Refusal(500);
  }

  mg_context* StartCivetweb() {
    const std::string where = ListeningPort(address_);
    const std::string threads = absl::StrCat(kThreads);
    const std::string queue = absl::StrCat(kQueue);
    const std::string patience = absl::StrCat(absl::ToInt64Milliseconds(options_.patience));
    const std::string size = absl::StrCat(kMaxRequestBytes);
    const char* options[] = {"listening_ports",
                             where.c_str(),
                             "num_threads",
                             threads.c_str(),
                             "connection_queue",
                             queue.c_str(),
                             "max_request_size",
                             size.c_str(),
                             "request_timeout_ms",
                             patience.c_str(),
                             nullptr};
    mg_callbacks callbacks = {};
    callbacks.begin_request = OnRequest;
    callbacks.http_error = OnError;
    callbacks.log_message = OnMessage;
    return mg_start(&callbacks, this, options);
  }

  const HttpOptions options_;
  HostPort address_;
  bool only_this_machine_ = true;
  mg_context* context_ = nullptr;
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
