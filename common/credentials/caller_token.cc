#include "common/credentials/caller_token.h"

#include <utility>

namespace muster {

absl::StatusOr<std::unique_ptr<CallerToken>> CallerToken::Open(std::string path) {
  absl::StatusOr<std::unique_ptr<TokenFile>> file = TokenFile::Open(std::move(path));
  if (!file.ok()) return file.status();
  return std::make_unique<CallerToken>(*std::move(file));
}

CallerToken::CallerToken(std::unique_ptr<TokenFile> file) : file_(std::move(file)) {
  current_.token = file_->Get();
}

TokenFile::Token CallerToken::Get() {
  TokenFile::Token latest = file_->Get();
  std::lock_guard<std::mutex> lock(mutex_);
  Learn(std::move(latest));
  return use_previous_ ? previous_.token : current_.token;
}

void CallerToken::Learn(TokenFile::Token token) {
  if (token.version <= current_.token.version) return;
  previous_ = std::move(current_);
  current_ = {std::move(token), false};
  use_previous_ = false;
}

void CallerToken::OnAccepted(uint64_t version) {
  std::lock_guard<std::mutex> lock(mutex_);
  ever_accepted_ = true;
  rejecting_ = false;
  // Forgets rejections: when this token is rejected later, the other one may be accepted.
  current_.rejected = previous_.rejected = false;
}

CallerToken::Retry CallerToken::OnRejected(uint64_t version, Time now) {
  TokenFile::Token latest = file_->GetLatest();
  std::lock_guard<std::mutex> lock(mutex_);
  Learn(std::move(latest));
  if (!std::exchange(rejecting_, true)) rejected_since_ = now;
  if (version == current_.token.version) current_.rejected = true;
  if (version == previous_.token.version) previous_.rejected = true;
  use_previous_ = current_.rejected && previous_.token.version > 0 && !previous_.rejected;
  if (use_previous_ || !current_.rejected) return Retry::kNow;
  // Forgets rejections: by the next try, the coordinator may accept either token.
  current_.rejected = previous_.rejected = false;
  const bool may_recover = ever_accepted_ && now - rejected_since_ < kRetryPeriod;
  return may_recover ? Retry::kLater : Retry::kNever;
}

}  // namespace muster
