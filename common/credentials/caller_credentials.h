#ifndef MUSTER_COMMON_CREDENTIALS_CALLER_CREDENTIALS_H_
#define MUSTER_COMMON_CREDENTIALS_CALLER_CREDENTIALS_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/credentials/caller_token.h"
#include "common/credentials/credential_files.h"

namespace muster {

// Checks whether the files can be used, as CallerCredentials::Load() does, but starts nothing.
absl::Status CheckCredentialFiles(const CredentialFiles& files);

// The credentials that a process presents to a coordinator, and its demands on the coordinator's.
// All channels to a coordinator are made here. Used by SDK, launcher and command line. Thread-safe.
//
//   const uint64_t token = credentials->Sign(&context);
//   ... the call ends with `status` ...
//   RetryDecision decision = credentials->DecideRetry(token, status, address);
//   if (decision.retry_now) ... send it again, now with another token ...
class CallerCredentials {
 public:
  // Reads the files. INVALID_ARGUMENT names the file that cannot be used, and what to do. With TLS,
  // starts a thread that watches them. Without TLS, starts no thread and uses nothing of gRPC.
  static absl::StatusOr<std::shared_ptr<CallerCredentials>> Load(const CredentialFiles& files);

  std::shared_ptr<grpc::Channel> NewChannel(const std::string& target,
                                            grpc::ChannelArguments arguments) const;

  // Adds the token to a call that has not begun. Returns the token's version for DecideRetry(), or
  // 0 if there is no token.
  uint64_t Sign(grpc::ClientContext* context) const;

  // The verdict on a call that has ended. A call that was rejected only for its token may be sent
  // again with another token. If the error is final, the status says which coordinator rejected
  // which credentials, and what to do.
  struct RetryDecision {
    bool retry_now = false;  // at once; else see `status`
    absl::Status status;     // UNAVAILABLE if a later retry may succeed
  };
  RetryDecision DecideRetry(uint64_t token, const absl::Status& status,
                            const std::string& coordinator) const;

 private:
  explicit CallerCredentials(const CredentialFiles& files) : files_(files) {}
  std::string DescribeCredentials() const;

  const CredentialFiles files_;
  std::unique_ptr<CallerToken> token_;                   // null if there is none
  std::shared_ptr<grpc::ChannelCredentials> transport_;  // null without TLS
};

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIALS_CALLER_CREDENTIALS_H_
