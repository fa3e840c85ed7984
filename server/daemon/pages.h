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
  // HOST:PORT, or a port alone, which only this machine can reach. Empty: no page is served.
  std::string listen;
  std::string port_file;  // empty: none
};

// Returns INVALID_ARGUMENT that says what was expected.
absl::Status Validate(const PageOptions& options);

// The pages that a coordinator serves over HTTP while the object lives.
class Pages {
 public:
  // Starts serving, and logs where the pages are and who can read them. Returns null if no page is
  // to be served. `options` must be valid; `server` must outlive the result. Returns
  // INVALID_ARGUMENT, PERMISSION_DENIED or UNAVAILABLE if the address or the port file cannot be
  // used.
  static absl::StatusOr<std::unique_ptr<Pages>> Serve(const PageOptions& options,
                                                      const service::Server& server);

 private:
  Pages(std::unique_ptr<web::HttpServer> http, std::unique_ptr<PortFile> port_file);

  const std::unique_ptr<web::HttpServer> http_;
  const std::unique_ptr<PortFile> port_file_;  // destroyed first
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_PAGES_H_
