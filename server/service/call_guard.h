#ifndef MUSTER_SERVER_SERVICE_CALL_GUARD_H_
#define MUSTER_SERVER_SERVICE_CALL_GUARD_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/token_file.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_context.h"
#include "server/service/accepted_tokens.h"
#include "server/service/refusal_log.h"
#include "spdlog/logger.h"

namespace muster::service {

// What callers must show, and what the daemon shows them. Empty paths: nothing.
struct Credentials {
  // Each call must carry the token of this file. How long the token that it held before stays good
  // after the file has changed.
  std::string token_file;
  absl::Duration token_overlap = absl::Minutes(5);
  // TLS with this certificate and key.
  std::string tls_cert;
  std::string tls_key;
  // Each caller must have a certificate from this authority.
  std::string tls_client_ca;

  bool authenticate_callers() const { return !token_file.empty() || !tls_client_ca.empty(); }
};

// Hears of each call that has shown its credentials. `peer` returns gRPC's name of the caller.
using AdmissionListener = std::function<void(absl::FunctionRef<std::string()> peer)>;

// Says who may call. Thread-safe.
class CallGuard {
 public:
  // INVALID_ARGUMENT names the file that cannot be used, and what to do. `on_admitted` may be
  // empty.
  static absl::StatusOr<std::unique_ptr<CallGuard>> Make(const Credentials& credentials,
                                                         std::shared_ptr<spdlog::logger> logger,
                                                         AdmissionListener on_admitted);

  // For the server's port.
  std::shared_ptr<grpc::ServerCredentials> TransportCredentials() const;

  // OK, or UNAUTHENTICATED with what the caller should have sent; counts and logs that. Before
  // anything is done for a call: what is refused has no other effect.
  absl::Status Admit(const grpc::ServerContextBase& context);
  // Calls refused so far.
  uint64_t refused() const { return refused_; }

  // Looks whether the token file has changed, and writes log lines that are due. About every
  // second.
  void Look();

 private:
  CallGuard(const Credentials& credentials, std::unique_ptr<TokenFile> token_file,
            std::shared_ptr<spdlog::logger> logger, AdmissionListener on_admitted);

  absl::Status Check(const grpc::ServerContextBase& context);
  absl::Status CheckToken(const grpc::ServerContextBase& context);
  // Takes over what the file holds.
  void Learn(const TokenFile::Token& token, absl::Time now);
  void Refused(const grpc::ServerContextBase& context, const absl::Status& why);
  void WriteLines(absl::Time now);

  const Credentials credentials_;
  const std::unique_ptr<TokenFile> token_file_;  // null: no token is asked for
  const std::shared_ptr<spdlog::logger> logger_;
  const AdmissionListener on_admitted_;
  std::atomic<uint64_t> refused_{0};

  std::mutex mutex_;  // guards all below
  AcceptedTokens tokens_;
  uint64_t version_ = 0;    // of the token file's token, the last that was taken over
  std::string said_wrong_;  // with the token file
  RefusalLog refusals_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CALL_GUARD_H_
