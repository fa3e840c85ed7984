#ifndef MUSTER_SERVER_DAEMON_PAGES_H_
#define MUSTER_SERVER_DAEMON_PAGES_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/daemon/port_file.h"
#include "server/service/server.h"
#include "server/web/http_server.h"

namespace muster::daemon {

struct PageOptions {
  // HOST:PORT, or a port alone, which only this machine can reach. Empty: nothing is served.
  std::string listen;
  std::string port_file;  // empty: none
};

// INVALID_ARGUMENT says what was expected.
absl::Status Validate(const PageOptions& options);

// What a coordinator shows over HTTP, for as long as the object lives.
class Pages {
 public:
  // Null where there is nothing to serve. `options` must be valid; `server` must outlive the
  // result. Says in the log where pages are, and to whom. INVALID_ARGUMENT and UNAVAILABLE: the
  // address, or the port file, cannot be used.
  static absl::StatusOr<std::unique_ptr<Pages>> Serve(const PageOptions& options,
                                                      const service::Server& server);

 private:
  Pages(std::unique_ptr<web::HttpServer> http, std::unique_ptr<PortFile> port_file);

  const std::unique_ptr<web::HttpServer> http_;
  const std::unique_ptr<PortFile> port_file_;  // goes first
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_PAGES_H_
