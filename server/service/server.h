#ifndef MUSTER_SERVER_SERVICE_SERVER_H_
#define MUSTER_SERVER_SERVICE_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"
#include "server/core/api/options.h"
#include "server/core/reports/metrics.h"
#include "server/service/base/listen_address.h"
#include "server/service/call_service.h"
#include "server/service/callback_thread_heartbeat.h"
#include "server/service/coordinator_service.h"
#include "server/service/credentials/call_guard.h"
#include "server/service/driver/coordinator_driver.h"
#include "server/service/store_service.h"
#include "spdlog/logger.h"

namespace muster::service {

struct ServerOptions {
  // Start() fills in `instance`, `random`, `daemon_version` and `store.young_until`.
  core::Options core;
  // HOST:PORT; port 0 picks a free one.
  std::string listen_address = "127.0.0.1:7370";
  // The credentials that callers must present.
  Credentials credentials;
  // Allows an address that other machines can reach although no credentials are required.
  bool insecure = false;
  // How often the daemon pings a silent peer, and how long the answer may take before the daemon
  // closes the connection, and with it the Attach stream. This is how the daemon notices that a
  // host has died or a process is stopped. gRPC also sets TCP's user time-out to this value. So a
  // job survives network outages up to the time-out, less a second or two in which members
  // reconnect. A time-out of 0 disables pings: no member is lost for silence.
  absl::Duration keepalive_time = absl::Seconds(3);
  absl::Duration keepalive_timeout = absl::Seconds(14);
  // The journal that records every input of the core. Unset: there is none.
  std::optional<journal::RecorderOptions> journal;
  // The daemon's log. Null: spdlog's default logger.
  std::shared_ptr<spdlog::logger> logger;
  // Called, from any thread, after each step that leaves the job's outcome known. May be empty.
  std::function<void()> on_outcome;
  // Called for each call that the guard admits. May be empty.
  AdmissionListener on_admitted;
};

// Returns the limit on the size of a request of any kind.
uint64_t MaxRequestBytes(const core::Options& options);
// Returns the same for requests that may be the first on a connection. The store's streams begin
// with a small one, and send entries only after the daemon's first answer.
uint64_t MaxFirstRequestBytes(const core::Options& options);

// The metrics of a coordinator and its service.
struct ServerMetrics {
  core::Metrics job;
  uint64_t unauthenticated_calls = 0;  // refused for their credentials
  uint64_t answers_dropped = 0;        // dropped unread, see UnreadAnswerLimiter
};

// The gRPC server of one job's coordinator, with grpc.health.v1 and server reflection. Thread-safe.
//
//   absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(std::move(options));
//   if (!server.ok()) return server.status();
//   ...  // until a signal or (*server)->Outcome() says to stop
//   (*server)->Shutdown("the coordinator was told to stop", absl::Seconds(10));
class Server {
 public:
  // Starts a server, which listens when this returns. Errors:
  //   INVALID_ARGUMENT     an option is out of range, or the address is malformed or not of this
  //                        machine.
  //   FAILED_PRECONDITION  a credentials file cannot be used. Or other machines could reach the
  //                        address, and neither credentials nor `insecure` are given.
  //   PERMISSION_DENIED    this user may not use the port.
  //   UNAVAILABLE          the port is in use.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);

  // Shuts down without waiting for calls in flight.
  ~Server();

  // Returns the address for clients on this machine: the listen address with its actual port.
  std::string address() const { return address_.ToString(); }
  int port() const { return address_.port; }

  // Returns the current metrics. Takes the coordinator's lock for a moment, as a call does.
  ServerMetrics Measure() const {
    return {driver_.Measure(), guard_->refused(), service_.answers_dropped()};
  }

  // Returns how the job ended; see core::Coordinator.
  std::optional<absl::Status> Outcome() const { return driver_.Outcome(); }
  // Returns whether no member is attached.
  bool Quiet() const { return driver_.Quiet(); }

  // Returns what the status page shows, with the timeline and completed leases.
  CoordinatorDriver::Snapshot Status() const {
    return *driver_.GetStatus("", {/*timeline=*/true, /*completed_leases=*/true});
  }
  // Returns the number of calls that were refused for their credentials.
  uint64_t refused_calls() const { return guard_->refused(); }
  const core::Options& options() const { return driver_.options(); }

  // Looks after tokens and their log lines; see CallGuard::RefreshCredentials(). Call it about once
  // a second.
  void RefreshCredentials() { guard_->RefreshCredentials(); }

  // Drains the server: health turns NOT_SERVING, every parked call and stream ends with UNAVAILABLE
  // and `reason`, and the port is closed. Blocks until the answers are delivered, for at most
  // `limit`. A second call does nothing.
  void Shutdown(const std::string& reason, absl::Duration limit);

 private:
  Server(ServerOptions options, HostPort address, std::unique_ptr<CallGuard> guard);
  absl::Status Listen(const ServerOptions& options);

  const std::shared_ptr<CallbackThreadHeartbeat> heartbeat_ = CallbackThreadHeartbeat::Get();
  HostPort address_;
  const std::unique_ptr<CallGuard> guard_;
  CoordinatorDriver driver_;
  CoordinatorService service_;
  CallService call_service_;
  StoreService store_service_;
  std::unique_ptr<grpc::Server> grpc_;  // null once shut down
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_SERVER_H_
