#include "common/credentials/token_file.h"

#include <ctime>
#include <utility>

#include "common/credentials/token.h"

namespace muster {
namespace {

constexpr std::chrono::seconds kCheckInterval{1};
// Two changes within one tick of a file system's clock may have the same time.
constexpr time_t kCoarsestTick = 2;

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool Same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         SameTime(a.st_mtim, b.st_mtim) && SameTime(a.st_ctim, b.st_ctim);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(std::string path) {
  absl::StatusOr<std::string> token = ReadTokenFile(path);
  if (!token.ok()) return token.status();
  return std::unique_ptr<TokenFile>(new TokenFile(std::move(path), *std::move(token)));
}

TokenFile::TokenFile(std::string path, std::string token)
    : path_(std::move(path)),
      token_{std::move(token), 1},
      last_check_(std::chrono::steady_clock::now()) {}

TokenFile::Token TokenFile::Get() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (std::chrono::steady_clock::now() - last_check_ >= kCheckInterval) Refresh();
  return token_;
}

TokenFile::Token TokenFile::GetLatest() {
  std::lock_guard<std::mutex> lock(mutex_);
  Refresh();
  return token_;
}

absl::Status TokenFile::problem() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

void TokenFile::Refresh() {
  last_check_ = std::chrono::steady_clock::now();
  struct stat now = {};
  const bool found = stat(path_.c_str(), &now) == 0;
  if (found && !may_miss_change_ && Same(now, last_stat_)) return;
  last_stat_ = now;
  may_miss_change_ = !found || time(nullptr) - now.st_ctim.tv_sec < kCoarsestTick;
  absl::StatusOr<std::string> token = ReadTokenFile(path_);
  problem_ = token.status();
  if (token.ok() && *token != token_.text) token_ = {*std::move(token), token_.version + 1};
}

}  // namespace muster
