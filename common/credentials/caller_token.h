#ifndef MUSTER_COMMON_CREDENTIALS_CALLER_TOKEN_H_
#define MUSTER_COMMON_CREDENTIALS_CALLER_TOKEN_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/credentials/token_file.h"

namespace muster {

// The token that a caller sends, while an operator may replace the job's token. The file here and
// the coordinator's file change at different times, and meanwhile the coordinator may accept either
// token:
//
//   The file here changes to B, while the coordinator still has A. B is rejected, so the call
//   goes out with A. Then the coordinator changes to B, and later rejects A. So the call goes out
//   with B.
//
// Thread-safe.
class CallerToken {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The time for which a caller whose token was accepted before retries after a rejection. A
  // coordinator that restarts in the middle of a replacement does not know the old token.
  static constexpr std::chrono::minutes kRetryPeriod{2};

  enum class Retry {
    kNow,    // at once, since there is another token
    kLater,  // the coordinator, or this process, may be about to learn a token
    kNever,
  };

  // Reads the file. INVALID_ARGUMENT as ReadTokenFile().
  static absl::StatusOr<std::unique_ptr<CallerToken>> Open(std::string path);
  explicit CallerToken(std::unique_ptr<TokenFile> file);

  const std::string& path() const { return file_->path(); }

  // Returns the token for the next call.
  TokenFile::Token Get();
  // Report how the coordinator answered the token of this version.
  void OnAccepted(uint64_t version);
  Retry OnRejected(uint64_t version, Time now);

 private:
  struct Candidate {
    TokenFile::Token token;
    bool rejected = false;
  };

  void Learn(TokenFile::Token token);

  const std::unique_ptr<TokenFile> file_;
  std::mutex mutex_;  // guards all members below
  Candidate current_;
  Candidate previous_;  // version 0 if there is none
  bool use_previous_ = false;
  bool ever_accepted_ = false;
  bool rejecting_ = false;
  Time rejected_since_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIALS_CALLER_TOKEN_H_
