#ifndef MUSTER_SERVER_WEB_HTTP_SERVER_H_
#define MUSTER_SERVER_WEB_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host_port.h"
#include "spdlog/logger.h"

namespace muster::web {

// A GET, or a HEAD, which is answered with the headers of a GET.
struct Request {
  std::string path;                               // "/metrics": as it was sent, without the query
  std::map<std::string, std::string> parameters;  // of the query, decoded; the first of each name
  std::map<std::string, std::string> headers;     // by names in lower case
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::map<std::string, std::string> headers;  // beside those that every answer has
  std::string body;
};

// Called by several threads at once. Whatever it throws is answered with status 500.
using Page = std::function<Response(const Request&)>;

struct HttpOptions {
  // Port 0 picks a free one. A host that is a name is looked up once.
  HostPort address;
  // By paths, such as "/metrics". Every other path is not found.
  std::map<std::string, Page> pages;
  // What the error of Start says the address comes from.
  std::string flag = "--metrics-listen";
  // How long a client may take for all of its request, again for a body, and to take more of its
  // answer.
  absl::Duration patience = absl::Seconds(10);
  // How long a client may take for all of its answer.
  absl::Duration answer_patience = absl::Seconds(30);
  // Must not be null.
  std::shared_ptr<spdlog::logger> logger;
};

// Serves pages to browsers and scrapers over plain HTTP, to whoever can reach the port. It takes no
// credentials and no request that could change anything: only GET and HEAD. Where only this machine
// can reach the port, only requests that name this machine by a loopback name are answered: so no
// page from elsewhere can have a browser here read it under a name of its own.
//
// Some tens of connections are served at a time; beyond that, clients wait in the system's queue.
class HttpServer {
 public:
  // The descriptors that it has open at most: connections, and a few of its own.
  static constexpr int kMostDescriptors = 64;

  // Serves at return. INVALID_ARGUMENT: no address of this machine. UNAVAILABLE: the port is in
  // use. Both say what to do.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(HttpOptions options);

  // Blocks until pages that are being made have been. Closes all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens, with the actual port.
  const HostPort& address() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_HTTP_SERVER_H_
