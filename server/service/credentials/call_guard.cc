#include "server/service/credentials/call_guard.h"

#include <ctime>
#include <iterator>
#include <utility>

#include "common/credentials/tls_files.h"
#include "common/credentials/token.h"
#include "common/names/host_port.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"
#include "grpcpp/security/tls_credentials_options.h"

namespace muster::service {
namespace {

// Returns the time by a clock that cannot be set.
absl::Time SteadyNow() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::TimeFromTimespec(now);
}

TlsFiles FilesOf(const Credentials& credentials) {
  return {credentials.tls_cert, credentials.tls_key, credentials.tls_client_ca};
}

absl::Status CheckTls(const Credentials& credentials) {
  if (!credentials.tls_client_ca.empty() && credentials.tls_cert.empty()) {
    return absl::InvalidArgumentError(
        "--tls-client-ca needs --tls-cert and --tls-key: without TLS callers cannot show a "
        "certificate");
  }
  return CheckTlsFiles(FilesOf(credentials));
}

absl::string_view ViewOf(grpc::string_ref text) { return {text.data(), text.size()}; }

// Returns the token in the authorization header. Returns "" if the header is missing, or is there
// more than once.
absl::string_view SentToken(const grpc::ServerContextBase& context) {
  const auto [begin, end] = context.client_metadata().equal_range(kAuthorization);
  if (begin == end || std::next(begin) != end) return "";
  return ParseAuthorization(ViewOf(begin->second));
}

absl::Status MissingTokenError() {
  return absl::UnauthenticatedError(
      "no token came with the call, and this coordinator asks for one: give the caller a copy of "
      "its token file (MUSTER_TOKEN_FILE, JobOptions::token_file or --token-file)");
}

absl::Status WrongTokenError() {
  return absl::UnauthenticatedError(
      "the token that came with the call is not, or no longer, this coordinator's: give the caller "
      "a copy of its token file as it is now (MUSTER_TOKEN_FILE, JobOptions::token_file or "
      "--token-file)");
}

absl::Status MissingCertificateError() {
  return absl::UnauthenticatedError(
      "the caller showed no certificate, and this coordinator asks for one: give it one from the "
      "authority of --tls-client-ca (MUSTER_TLS_CERT and MUSTER_TLS_KEY, or JobOptions::tls_cert "
      "and tls_key)");
}

// Returns whether the caller presented a certificate. A certificate of another authority fails the
// handshake, so there is nothing more to verify here.
bool PresentedCertificate(const grpc::ServerContextBase& context) {
  const auto peer = context.auth_context();
  return peer != nullptr && !peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME).empty();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CallGuard>> CallGuard::Make(const Credentials& credentials,
                                                           std::shared_ptr<spdlog::logger> logger,
                                                           AdmissionListener on_admitted) {
  if (absl::Status s = CheckTls(credentials); !s.ok()) return s;
  std::unique_ptr<TokenFile> token_file;
  if (!credentials.token_file.empty()) {
    absl::StatusOr<std::unique_ptr<TokenFile>> opened = TokenFile::Open(credentials.token_file);
    if (!opened.ok()) return opened.status();
    token_file = *std::move(opened);
    const std::string warning = TokenFileWarning(credentials.token_file);
    if (!warning.empty()) logger->warn(warning);
  }
  return std::unique_ptr<CallGuard>(
      new CallGuard(credentials, std::move(token_file), std::move(logger), std::move(on_admitted)));
}

CallGuard::CallGuard(const Credentials& credentials, std::unique_ptr<TokenFile> token_file,
                     std::shared_ptr<spdlog::logger> logger, AdmissionListener on_admitted)
    : credentials_(credentials),
      token_file_(std::move(token_file)),
      logger_(std::move(logger)),
      on_admitted_(std::move(on_admitted)),
      tokens_(credentials.token_overlap) {
  if (token_file_ != nullptr) AdoptToken(token_file_->Get(), SteadyNow());
}

std::shared_ptr<grpc::ServerCredentials> CallGuard::TransportCredentials() const {
  if (credentials_.tls_cert.empty()) return grpc::InsecureServerCredentials();
  grpc::experimental::TlsServerCredentialsOptions options(WatchTlsFiles(FilesOf(credentials_)));
  options.watch_identity_key_cert_pairs();
  if (!credentials_.tls_client_ca.empty()) {
    options.watch_root_certs();
    // The handshake requires no certificate: a caller without one gets an answer that says so, and
    // the health check needs none.
    options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

absl::Status CallGuard::Admit(const grpc::ServerContextBase& context) {
  absl::Status status = Check(context);
  if (!status.ok()) {
    NoteRefusal(context, status);
  } else if (on_admitted_) {
    on_admitted_([&context] { return context.peer(); });
  }
  return status;
}

absl::Status CallGuard::Check(const grpc::ServerContextBase& context) {
  if (!credentials_.tls_client_ca.empty() && !PresentedCertificate(context))
    return MissingCertificateError();
  return token_file_ == nullptr ? absl::OkStatus() : CheckToken(context);
}

absl::Status CallGuard::CheckToken(const grpc::ServerContextBase& context) {
  const absl::string_view sent = SentToken(context);
  if (sent.empty()) return MissingTokenError();
  const absl::Time now = SteadyNow();
  const TokenFile::Token token = token_file_->Get();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    AdoptToken(token, now);
    if (tokens_.Accepts(sent, now)) return absl::OkStatus();
  }
  // The file may have changed since it was last read. For example, the operator replaces the token,
  // and a rank sends the new one within the same second. So read the file again before refusing.
  const TokenFile::Token latest = token_file_->GetLatest();
  std::lock_guard<std::mutex> lock(mutex_);
  AdoptToken(latest, now);
  return tokens_.Accepts(sent, now) ? absl::OkStatus() : WrongTokenError();
}

void CallGuard::AdoptToken(const TokenFile::Token& token, absl::Time now) {
  if (token.version <= version_) return;
  if (version_ > 0) {
    logger_->info("the token file {} holds a new token; the previous token stays valid for {}",
                  token_file_->path(), absl::FormatDuration(credentials_.token_overlap));
  }
  version_ = token.version;
  tokens_.Replace(token.text, now);
}

void CallGuard::NoteRefusal(const grpc::ServerContextBase& context, const absl::Status& why) {
  ++refused_;
  const std::string peer = context.peer();
  const std::string host = ParsePeerHost(peer);
  const absl::Time now = SteadyNow();
  std::lock_guard<std::mutex> lock(mutex_);
  auth_failures_.Add(host.empty() ? peer : host, std::string(why.message()), now);
  WriteLines(now);
}

void CallGuard::RefreshCredentials() {
  const absl::Time now = SteadyNow();
  if (token_file_ != nullptr) {
    const TokenFile::Token token = token_file_->GetLatest();
    const std::string wrong(token_file_->problem().message());
    std::lock_guard<std::mutex> lock(mutex_);
    AdoptToken(token, now);
    if (wrong != logged_problem_ && !wrong.empty()) {
      logger_->error("{}. The previous token stays in force", wrong);
    }
    logged_problem_ = wrong;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  WriteLines(now);
}

void CallGuard::WriteLines(absl::Time now) {
  for (const std::string& line : auth_failures_.TakeLines(now)) logger_->warn(line);
}

}  // namespace muster::service
