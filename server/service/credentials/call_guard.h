#ifndef MUSTER_SERVER_SERVICE_CREDENTIALS_CALL_GUARD_H_
#define MUSTER_SERVER_SERVICE_CREDENTIALS_CALL_GUARD_H_

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
#include "common/credentials/token_file.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_context.h"
#include "server/service/credentials/accepted_tokens.h"
#include "server/service/credentials/auth_failure_log.h"
#include "spdlog/logger.h"

namespace muster::service {

// The credentials that callers must present, and the certificate that the daemon presents to them.
// An empty path switches the check off.
struct Credentials {
  // Each call must carry the token in this file. After the file has changed, the previous token
  // stays valid for `token_overlap`.
  std::string token_file;
  absl::Duration token_overlap = absl::Minutes(5);
  // The certificate and key with which the daemon serves TLS.
  std::string tls_cert;
  std::string tls_key;
  // Each caller must present a certificate of this authority.
  std::string tls_client_ca;

  bool authenticate_callers() const { return !token_file.empty() || !tls_client_ca.empty(); }
};

// A function that is called for each admitted call. `peer` returns gRPC's name of the caller.
using AdmissionListener = std::function<void(absl::FunctionRef<std::string()> peer)>;

// The guard that admits calls by their credentials. Every service of the daemon but grpc.health.v1
// asks it first. Thread-safe.
class CallGuard {
 public:
  // Reads the credentials. `on_admitted` may be empty. Errors name the file that cannot be used,
  // and say what to do.
  static absl::StatusOr<std::unique_ptr<CallGuard>> Make(const Credentials& credentials,
                                                         std::shared_ptr<spdlog::logger> logger,
                                                         AdmissionListener on_admitted);

  // Returns the credentials of the server's port: TLS if there is a certificate, else plaintext.
  std::shared_ptr<grpc::ServerCredentials> TransportCredentials() const;

  // Returns OK, or UNAUTHENTICATED, naming the credential that the caller should have sent. Counts
  // and logs refused calls. Callers ask this before they do anything else for a call, so a refused
  // call has no other effect.
  absl::Status Admit(const grpc::ServerContextBase& context);
  // Returns the number of calls refused so far.
  uint64_t refused() const { return refused_; }

  // Reads the token file again if it has changed, and writes log lines that are due. Call it about
  // once a second.
  void RefreshCredentials();

 private:
  CallGuard(const Credentials& credentials, std::unique_ptr<TokenFile> token_file,
            std::shared_ptr<spdlog::logger> logger, AdmissionListener on_admitted);

  absl::Status Check(const grpc::ServerContextBase& context);
  absl::Status CheckToken(const grpc::ServerContextBase& context);
  // Accepts the token, unless a newer token of the file has been accepted already.
  void AdoptToken(const TokenFile::Token& token, absl::Time now);
  void NoteRefusal(const grpc::ServerContextBase& context, const absl::Status& why);
  void WriteLines(absl::Time now);

  const Credentials credentials_;
  const std::unique_ptr<TokenFile> token_file_;  // null: no token is required
  const std::shared_ptr<spdlog::logger> logger_;
  const AdmissionListener on_admitted_;
  std::atomic<uint64_t> refused_{0};

  std::mutex mutex_;  // guards the members below
  AcceptedTokens tokens_;
  uint64_t version_ = 0;        // of the latest token that was read from the file
  std::string logged_problem_;  // the problem with the token file that was logged last
  AuthFailureLog auth_failures_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CREDENTIALS_CALL_GUARD_H_
