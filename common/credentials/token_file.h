#ifndef MUSTER_COMMON_CREDENTIALS_TOKEN_FILE_H_
#define MUSTER_COMMON_CREDENTIALS_TOKEN_FILE_H_

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster {

// A file with a token, read again when it changes. The daemon and its clients use this. If the
// file's new contents are unusable, the former token stays. Thread-safe.
class TokenFile {
 public:
  struct Token {
    std::string text;
    uint64_t version = 0;  // from 1; grows whenever the token changes
  };

  // Reads the file. INVALID_ARGUMENT as ReadTokenFile().
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(std::string path);

  const std::string& path() const { return path_; }

  // Returns the token. Checks the file if it was not checked for a second.
  Token Get();
  // Checks the file now, and returns the token.
  Token GetLatest();

  // Returns why the file cannot be used as it is now, or OK.
  absl::Status problem() const;

 private:
  TokenFile(std::string path, std::string token);
  void Refresh();

  const std::string path_;
  mutable std::mutex mutex_;  // guards all members below
  Token token_;
  struct stat last_stat_ = {};
  bool may_miss_change_ = true;
  std::chrono::steady_clock::time_point last_check_;
  absl::Status problem_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIALS_TOKEN_FILE_H_
