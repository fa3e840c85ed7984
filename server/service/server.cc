#include "server/service/server.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/credentials/random_bytes.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server_builder.h"
#include "server/service/base/daemon_version.h"
#include "server/service/guarded_services.h"
#include "spdlog/spdlog.h"

namespace muster::service {
namespace {

// The shortest time between pings of a client, with or without calls. It must be below the shortest
// keepalive time of all clients; otherwise gRPC closes their connections with "too_many_pings".
constexpr absl::Duration kMinClientPingInterval = absl::Milliseconds(100);
// The time that connections without coordinator calls get to notice the shutdown.
constexpr absl::Duration kGoawayTime = absl::Milliseconds(500);
// The most calls in flight on one connection. A member's own connection carries a handful. Clients
// that share a connection among members need an Attach and a call for each member.
constexpr int kMaxCallsPerConnection = 16384;

ServerOptions WithDefaults(ServerOptions options) {
  options.core.daemon_version = kDaemonVersion;
  options.core.instance = RandomNumber();
  options.core.random = RandomNumber;
  options.core.store.young_until = absl::Now() + options.core.member_grace;
  if (options.logger == nullptr) options.logger = spdlog::default_logger();
  return options;
}

absl::Status CheckKeepalive(absl::string_view what, absl::Duration value) {
  if (value >= absl::Milliseconds(10) && value <= absl::Hours(24)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", absl::FormatDuration(value), "; expected 10ms to 24h"));
}

// The longest back-off of a member's reconnects. A member whose connection stalls notices it by its
// keepalive, and then retries within this time.
constexpr absl::Duration kMaxReconnectBackoff = absl::Seconds(1);

// Requires that a recovery lasts long enough for every living member to reconnect. A shorter
// recovery would break the job.
absl::Status CheckRecoveryGrace(const ServerOptions& options) {
  const absl::Duration least =
      options.keepalive_time + options.keepalive_timeout + kMaxReconnectBackoff;
  if (options.core.recovery_grace > least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--recovery-grace is ", absl::FormatDuration(options.core.recovery_grace),
      "; it must be more than ", absl::FormatDuration(least),
      ": --keepalive-time, --keepalive-timeout and the largest reconnect backoff (",
      absl::FormatDuration(kMaxReconnectBackoff), "), in which every living member comes back"));
}

absl::Status CheckReachability(const ServerOptions& options, const HostPort& address) {
  if (options.insecure || options.credentials.authenticate_callers()) return absl::OkStatus();
  if (IsLoopback(address)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "refusing to listen on ", address.ToString(),
      ": other machines could reach it, and anybody there could join the job or stop it. Give it "
      "credentials: --token-file with a token that every rank gets too (umask 077; muster token > "
      "FILE), or --tls-cert, --tls-key and --tls-client-ca for mutual TLS. Or listen on a loopback "
      "address (127.0.0.1, [::1] or localhost); or, on a network where every peer is trusted, add "
      "--insecure"));
}

void WarnOfEavesdroppers(const ServerOptions& options, const HostPort& address) {
  const Credentials& credentials = options.credentials;
  if (credentials.token_file.empty() || !credentials.tls_cert.empty()) return;
  if (IsLoopback(address)) return;
  options.logger->warn(
      "the token is sent without TLS: anybody who can read the network's packets can read the "
      "token and everything that goes through the coordinator, and can join the job or stop it; "
      "--tls-cert and --tls-key prevent that");
}

// Returns FAILED_PRECONDITION instead of the status's code: a credentials file that cannot be used
// is an error in the configuration.
absl::Status AsConfigurationError(const absl::Status& status) {
  return absl::FailedPreconditionError(status.message());
}

absl::Status Validate(const ServerOptions& options, const HostPort& address) {
  if (absl::Status s = options.core.Validate(); !s.ok()) return s;
  if (absl::Status s = CheckKeepalive("keepalive time", options.keepalive_time); !s.ok()) return s;
  if (options.keepalive_timeout != absl::ZeroDuration()) {
    const absl::Status s = CheckKeepalive("keepalive timeout", options.keepalive_timeout);
    if (!s.ok()) return s;
  }
  if (absl::Status s = CheckRecoveryGrace(options); !s.ok()) return s;
  return CheckReachability(options, address);
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void SetKeepalive(const ServerOptions& options, grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              Milliseconds(kMinClientPingInterval));
  if (options.keepalive_timeout == absl::ZeroDuration()) {
    builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, std::numeric_limits<int>::max());
    return;
  }
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              Milliseconds(options.keepalive_timeout));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Members are silent for hours while they compute, so the pings without data are not limited.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

// Switches compression off. A message of 1 MB may inflate to 1 GB, and gRPC checks the size only
// afterwards. Callers that compress get UNIMPLEMENTED. Callers that ask which encodings are
// accepted do not compress.
void RefuseCompression(grpc::ServerBuilder* builder) {
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder->SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  // The refusal alone would come after the message is inflated.
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
}

void EnableHealthAndReflection() {
  static const bool once = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  static_cast<void>(once);
}

std::chrono::system_clock::time_point FromNow(absl::Duration duration) {
  return absl::ToChronoTime(absl::Now() + duration);
}

// Allows twice the largest content, and a claim's roster. Content that is slightly too large then
// reaches the core, whose error names the limit and its flag; gRPC's error would not.
uint64_t MaxRequestBytes(uint64_t largest_content, const core::Limits& limits) {
  constexpr uint64_t kMost = std::numeric_limits<int>::max();  // gRPC's own limit
  constexpr uint64_t kRosterEntry = 1 << 10;
  const uint64_t rest = (1 << 20) + limits.max_members * kRosterEntry;
  if (rest >= kMost || largest_content > (kMost - rest) / 2) return kMost;
  return 2 * largest_content + rest;
}

}  // namespace

uint64_t MaxRequestBytes(const core::Options& options) {
  const uint64_t largest =
      std::max(options.limits.max_payload_bytes, options.store.max_entry_bytes());
  return MaxRequestBytes(largest, options.limits);
}

uint64_t MaxFirstRequestBytes(const core::Options& options) {
  return MaxRequestBytes(options.limits.max_payload_bytes, options.limits);
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  options = WithDefaults(std::move(options));
  absl::StatusOr<HostPort> address = ParseListenAddress(options.listen_address);
  if (!address.ok()) return address.status();
  if (absl::Status s = Validate(options, *address); !s.ok()) return s;
  absl::StatusOr<std::unique_ptr<CallGuard>> guard =
      CallGuard::Make(options.credentials, options.logger, options.on_admitted);
  if (!guard.ok()) return AsConfigurationError(guard.status());
  WarnOfEavesdroppers(options, *address);
  std::unique_ptr<Server> server(new Server(options, *std::move(address), *std::move(guard)));
  if (absl::Status s = server->Listen(options); !s.ok()) return s;
  return server;
}

Server::Server(ServerOptions options, HostPort address, std::unique_ptr<CallGuard> guard)
    : address_(std::move(address)),
      guard_(std::move(guard)),
      driver_(std::move(options.core), std::move(options.logger), std::move(options.on_outcome),
              std::move(options.journal)),
      service_(&driver_, guard_.get()),
      call_service_(service_.dependencies()),
      store_service_(&driver_, guard_.get()) {}

Server::~Server() { Shutdown("the coordinator has stopped", absl::ZeroDuration()); }

absl::Status Server::Listen(const ServerOptions& options) {
  EnableHealthAndReflection();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address(), guard_->TransportCredentials(), &address_.port);
  // A second daemon must not share the port: it would take half of the members.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  SetKeepalive(options, &builder);
  RefuseCompression(&builder);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsPerConnection);
  builder.SetMaxReceiveMessageSize(static_cast<int>(MaxRequestBytes(options.core)));
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&service_);
  builder.RegisterService(&call_service_);
  builder.RegisterService(&store_service_);
  if (options.credentials.authenticate_callers()) {
    builder.experimental().SetInterceptorCreators(GuardOtherServices(guard_.get()));
  }
  const HostPort requested = address_;
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr) return ExplainListenFailure(requested);
  for (const char* const service :
       {v1::CoordinatorService::service_full_name(), v1::CallService::service_full_name(),
        v1::StoreService::service_full_name()}) {
    grpc_->GetHealthCheckService()->SetServingStatus(service, true);
  }
  return absl::OkStatus();
}

void Server::Shutdown(const std::string& reason, absl::Duration limit) {
  if (grpc_ == nullptr) return;
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  grpc_->GetHealthCheckService()->SetServingStatus(false);
  driver_.Drain(reason);
  driver_.AwaitAllExited(deadline);
  const absl::Duration left = absl::FromChrono(deadline - std::chrono::steady_clock::now());
  grpc_->Shutdown(FromNow(std::clamp(left, absl::ZeroDuration(), kGoawayTime)));
  grpc_.reset();
}

}  // namespace muster::service
