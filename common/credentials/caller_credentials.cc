#include "common/credentials/caller_credentials.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/credentials/tls_files.h"
#include "common/credentials/token.h"

namespace muster {
namespace {

TlsFiles TlsFilesOf(const CredentialFiles& files) {
  return {files.tls_cert, files.tls_key, files.tls_ca};
}

absl::Status CheckTls(const CredentialFiles& files) {
  absl::Status status = CheckCredentialFields(files);
  return status.ok() ? CheckTlsFiles(TlsFilesOf(files)) : status;
}

std::shared_ptr<grpc::ChannelCredentials> Tls(const CredentialFiles& files) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(WatchTlsFiles(TlsFilesOf(files)));
  options.watch_root_certs();
  if (!files.tls_cert.empty()) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace

absl::Status CheckCredentialFiles(const CredentialFiles& files) {
  if (absl::Status s = CheckTls(files); !s.ok()) return s;
  return files.token_file.empty() ? absl::OkStatus() : ReadTokenFile(files.token_file).status();
}

absl::StatusOr<std::shared_ptr<CallerCredentials>> CallerCredentials::Load(
    const CredentialFiles& files) {
  if (absl::Status s = CheckTls(files); !s.ok()) return s;
  std::shared_ptr<CallerCredentials> credentials(new CallerCredentials(files));
  if (!files.token_file.empty()) {
    absl::StatusOr<std::unique_ptr<CallerToken>> token = CallerToken::Open(files.token_file);
    if (!token.ok()) return token.status();
    credentials->token_ = *std::move(token);
  }
  if (!files.tls_ca.empty()) credentials->transport_ = Tls(files);
  return credentials;
}

std::shared_ptr<grpc::Channel> CallerCredentials::NewChannel(
    const std::string& target, grpc::ChannelArguments arguments) const {
  if (transport_ == nullptr) {
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  }
  if (!files_.tls_server_name.empty()) {
    arguments.SetSslTargetNameOverride(files_.tls_server_name);
  }
  return grpc::CreateCustomChannel(target, transport_, arguments);
}

// Adds the token to the call's own metadata, because gRPC accepts call credentials only over TLS.
uint64_t CallerCredentials::Sign(grpc::ClientContext* context) const {
  if (token_ == nullptr) return 0;
  const TokenFile::Token token = token_->Get();
  context->AddMetadata(kAuthorization, FormatAuthorization(token.text));
  return token.version;
}

CallerCredentials::RetryDecision CallerCredentials::DecideRetry(
    uint64_t token, const absl::Status& status, const std::string& coordinator) const {
  if (!absl::IsUnauthenticated(status)) {
    if (token_ != nullptr && status.ok()) token_->OnAccepted(token);
    return {false, status};
  }
  const std::string text =
      absl::StrCat("the coordinator at ", coordinator, " has refused this process, which sent ",
                   DescribeCredentials(), ": ", status.message());
  if (token_ == nullptr) return {false, absl::UnauthenticatedError(text)};
  switch (token_->OnRejected(token, std::chrono::steady_clock::now())) {
    case CallerToken::Retry::kNow:
      return {true, status};
    case CallerToken::Retry::kLater:
      return {false, absl::UnavailableError(text)};
    case CallerToken::Retry::kNever:
      break;
  }
  return {false, absl::UnauthenticatedError(text)};
}

std::string CallerCredentials::DescribeCredentials() const {
  const std::string certificate =
      files_.tls_cert.empty() ? ""
                              : absl::StrCat(" and the certificate in '", files_.tls_cert, "'");
  return token_ == nullptr ? absl::StrCat("no token", certificate)
                           : absl::StrCat("the token in '", files_.token_file, "'", certificate);
}

}  // namespace muster
