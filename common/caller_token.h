#ifndef MUSTER_COMMON_CALLER_TOKEN_H_
#define MUSTER_COMMON_CALLER_TOKEN_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/token_file.h"

namespace muster {

// What a caller does about its token while the token of its job is replaced: the file here and the
// coordinator's change at different times, and meanwhile either token may be the one that is taken.
// Thread-safe.
class CallerToken {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // How long a caller whose token was taken before keeps trying when it is refused: a coordinator
  // that is restarted in the middle of a replacement does not know the old token.
  static constexpr std::chrono::minutes kPatience{2};

  enum class Verdict {
    kTryAgain,       // at once: there is another token
    kTryAgainLater,  // the coordinator may be about to learn this token, or this process another
    kFinal,
  };

  // INVALID_ARGUMENT as ReadTokenFile().
  static absl::StatusOr<std::unique_ptr<CallerToken>> Open(std::string path);
  explicit CallerToken(std::unique_ptr<TokenFile> file);

  const std::string& path() const { return file_->path(); }

  // What to send with the next call.
  TokenFile::Token Get();
  // How the coordinator took the token of this version.
  void Accepted(uint64_t version);
  Verdict Refused(uint64_t version, Time now);

 private:
  struct Candidate {
    TokenFile::Token token;
    bool refused = false;
  };

  void Learn(TokenFile::Token token);

  const std::unique_ptr<TokenFile> file_;
  std::mutex mutex_;  // guards all below
  Candidate current_;
  Candidate previous_;  // version 0: none
  bool use_previous_ = false;
  bool ever_accepted_ = false;
  bool refusing_ = false;
  Time refused_since_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_CALLER_TOKEN_H_
