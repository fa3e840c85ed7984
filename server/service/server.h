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
#include "server/core/metrics.h"
#include "server/core/options.h"
#include "server/service/awake_callbacks.h"
#include "server/service/call_guard.h"
#include "server/service/coordinator_service.h"
#include "server/service/driver.h"
#include "server/service/listen_address.h"
#include "spdlog/logger.h"

namespace muster::service {

struct ServerOptions {
  // `instance`, `random` and `daemon_version` are filled in by Start.
  core::Options core;
  // HOST:PORT; port 0 picks a free one.
  std::string listen_address = "127.0.0.1:7370";
  // What callers must show.
  Credentials credentials;
  // Allows addresses that other machines can reach even where callers need not show anything.
  bool insecure = false;
  // How often a silent peer is pinged, and how long its answer may take before its connection, and
  // with it its Attach stream, is closed: how the death of a host or a stopped process is noticed.
  // What is on its way to a peer may take that long, too (gRPC makes it TCP's user time-out): so
  // this is the outage of a network that a job survives, but for the second or two that a member
  // needs to come back. A time-out of 0 switches the pings off: nobody is lost for silence.
  absl::Duration keepalive_time = absl::Seconds(3);
  absl::Duration keepalive_timeout = absl::Seconds(14);
  // Where all that goes into the core is recorded, if anywhere.
  std::optional<journal::RecorderOptions> journal;
  // Null: spdlog's default logger.
  std::shared_ptr<spdlog::logger> logger;
  // Called, from any thread, after each step that leaves the job's outcome known; may be empty.
  std::function<void()> on_outcome;
  // Hears of calls only where callers must show something; may be empty.
  AdmissionListener on_admitted;
};

// How many bytes a request may have at most, whatever it is.
uint64_t MostRequestBytes(const core::Limits& limits);

// What a coordinator and its service are like, in numbers.
struct Figures {
  core::Metrics job;
  uint64_t unauthenticated_calls = 0;  // refused for their credentials
  uint64_t answers_let_go = 0;         // that members have not read, see UnreadAnswers
};

// The coordinator of one job behind a gRPC port, with grpc.health.v1 and server reflection beside
// it. Thread-safe.
class Server {
 public:
  // Listens at return. INVALID_ARGUMENT: an option is out of range, or the address is malformed or
  // not of this machine. FAILED_PRECONDITION: a file of the credentials cannot be used, or others
  // could reach the address, and there are no credentials and no `insecure`. UNAVAILABLE: the port
  // is in use.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);

  // Shuts down, without time for calls under way.
  ~Server();

  // What clients on this machine connect to: the listen address with its actual port.
  std::string address() const { return address_.ToString(); }
  int port() const { return address_.port; }

  // Holds the coordinator up for a moment, as a call would.
  Figures Measure() const {
    return {driver_.Measure(), guard_->refused(), service_.answers_let_go()};
  }

  // How the job ended, see core::Coordinator.
  std::optional<absl::Status> Outcome() const { return driver_.Outcome(); }
  // No member is attached.
  bool Quiet() const { return driver_.Quiet(); }

  // What the status page shows, the timeline included.
  Driver::Snapshot Status() const {
    return *driver_.GetStatus("", {/*timeline=*/true, /*completed_leases=*/true});
  }
  // Calls that were refused for their credentials.
  uint64_t refused_calls() const { return guard_->refused(); }
  const core::Options& options() const { return driver_.options(); }

  // See CallGuard::Look(); about every second.
  void LookAtCredentials() { guard_->Look(); }

  // Health turns NOT_SERVING, every parked call and stream ends with UNAVAILABLE and this reason,
  // and the port is closed. Blocks until the answers are delivered, at most `limit`. Later calls of
  // it do nothing.
  void Shutdown(const std::string& reason, absl::Duration limit);

 private:
  Server(ServerOptions options, HostPort address, std::unique_ptr<CallGuard> guard);
  absl::Status Listen(const ServerOptions& options);

  const std::shared_ptr<AwakeCallbacks> awake_callbacks_ = AwakeCallbacks::Get();
  HostPort address_;
  const std::unique_ptr<CallGuard> guard_;
  Driver driver_;
  CoordinatorService service_;
  std::unique_ptr<grpc::Server> grpc_;  // null once shut down
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_SERVER_H_
