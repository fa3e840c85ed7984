#ifndef MUSTER_COMMON_CALLER_CREDENTIALS_H_
#define MUSTER_COMMON_CALLER_CREDENTIALS_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/caller_token.h"
#include "common/credential_files.h"

namespace muster {

// Whether the files can be used, as CallerCredentials::Load() says; begins nothing.
absl::Status CheckFiles(const CredentialFiles& files);

// What a process shows the coordinator, and what it asks of it. The one place where channels to a
// coordinator are made. Thread-safe.
class CallerCredentials {
 public:
  // Reads the files. INVALID_ARGUMENT names the one that cannot be used, and what to do. With TLS
  // it starts a thread, which watches them; without, no thread and nothing of gRPC.
  static absl::StatusOr<std::shared_ptr<CallerCredentials>> Load(const CredentialFiles& files);

  std::shared_ptr<grpc::Channel> NewChannel(const std::string& target,
                                            grpc::ChannelArguments arguments) const;

  // Puts the token into a call that has not begun, and names it for Judge(); 0: there is none.
  uint64_t Sign(grpc::ClientContext* context) const;

  // What the end of that call means: a call that was refused only for its token may go out again,
  // with another one. Of what is final the status says to which coordinator what was sent, and what
  // to do.
  struct Judgement {
    bool send_again = false;  // at once; else:
    absl::Status status;      // UNAVAILABLE where it is worth another try later
  };
  Judgement Judge(uint64_t token, const absl::Status& status, const std::string& coordinator) const;

 private:
  explicit CallerCredentials(const CredentialFiles& files) : files_(files) {}
  std::string Sent() const;

  const CredentialFiles files_;
  std::unique_ptr<CallerToken> token_;                   // null: none
  std::shared_ptr<grpc::ChannelCredentials> transport_;  // null: without TLS
};

}  // namespace muster

#endif  // MUSTER_COMMON_CALLER_CREDENTIALS_H_
