#ifndef MUSTER_COMMON_TOKEN_FILE_H_
#define MUSTER_COMMON_TOKEN_FILE_H_

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster {

// The token that a file holds, read again when the file changes: daemon and clients share this.
// What cannot be used changes nothing: the token that was read before stays. Thread-safe.
class TokenFile {
 public:
  struct Token {
    std::string text;
    uint64_t version = 0;  // grows with each other token, from 1
  };

  // INVALID_ARGUMENT as ReadTokenFile().
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(std::string path);

  const std::string& path() const { return path_; }

  // The token; looks at the file if nobody has for a second.
  Token Get();
  // The same, but looks now.
  Token GetLatest();

  // Why the file as it is now cannot be used; OK if it can.
  absl::Status problem() const;

 private:
  TokenFile(std::string path, std::string token);
  void Look();

  const std::string path_;
  mutable std::mutex mutex_;  // guards all below
  Token token_;
  struct stat seen_ = {};
  bool may_change_unseen_ = true;
  std::chrono::steady_clock::time_point looked_;
  absl::Status problem_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_TOKEN_FILE_H_
