#ifndef MUSTER_SERVER_WEB_HTTP_SERVER_H_
#define MUSTER_SERVER_WEB_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/names/host_port.h"
#include "spdlog/logger.h"

namespace muster::web {

// A GET request, or a HEAD request, which is answered with the headers of a GET.
struct Request {
  std::string path;                               // "/metrics": as it was sent, without the query
  std::map<std::string, std::string> parameters;  // the query, decoded; the first of each name
  std::map<std::string, std::string> headers;     // by name in lower case
};

// The answer to a request.
struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::map<std::string, std::string> headers;  // in addition to those of every answer
  std::string body;
};

// A function that makes a page. Several threads may call it at once. If it throws, the answer has
// status 500.
using Page = std::function<Response(const Request&)>;

struct HttpOptions {
  // Port 0 picks a free port. A host name is resolved once.
  HostPort address;
  // Pages by path, such as "/metrics". All other paths are answered with 404.
  std::map<std::string, Page> pages;
  // The flag that the errors of Start() name as the source of the address.
  std::string flag = "--metrics-listen";
  // How long a client may take to send its request, again to send a body, and to accept the next
  // part of the answer.
  absl::Duration io_timeout = absl::Seconds(10);
  // The longest time that a client may take to accept the whole answer.
  absl::Duration answer_timeout = absl::Seconds(30);
  // Must not be null.
  std::shared_ptr<spdlog::logger> logger;
};

// The HTTP server of the status page and the metrics. It knows neither jobs nor gRPC.
// server/daemon/pages.cc starts it, and the pages themselves are in server/web/page. Its tests are
// in tests/server/web.
//
//   HttpOptions options;
//   options.address = {"127.0.0.1", 9100};
//   options.pages["/hello"] = [](const Request&) { return Response{200, "text/plain", {}, "hi"}; };
//   options.logger = spdlog::default_logger();
//   absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(std::move(options));
//
// It serves plain HTTP to every client that can reach the port. It asks for no credentials and
// accepts only GET and HEAD, so no request can change anything. If only this machine can reach the
// port, a request must name a loopback host. This stops DNS rebinding:
//   A web page from elsewhere has its own host name resolve to 127.0.0.1, and the browser here asks
//   this server. The request names the other host, so it is answered with 403.
//
// Some tens of connections are served at a time. Further clients wait in the system's queue.
class HttpServer {
 public:
  // The most file descriptors that the server has open: connections, and a few of its own.
  static constexpr int kMaxDescriptors = 64;

  // Starts a server, which serves when this returns. INVALID_ARGUMENT: the address is not of this
  // machine. PERMISSION_DENIED: this user may not use the port. UNAVAILABLE: the port is in use.
  // Errors say what to do.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpOptions options);

  // Closes all connections. Blocks until the pages that are being made are finished.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Returns the address that the server listens on, with the actual port.
  const HostPort& address() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_HTTP_SERVER_H_
