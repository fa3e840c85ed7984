#include "common/caller_token.h"

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

void CallerToken::Accepted(uint64_t version) {
  std::lock_guard<std::mutex> lock(mutex_);
  ever_accepted_ = true;
  refusing_ = false;
  // Forgets rejections: when this token is rejected later, the other one may be accepted.
  current_.refused = previous_.refused = false;
}

CallerToken::Verdict CallerToken::Refused(uint64_t version, Time now) {
  TokenFile::Token latest = file_->GetLatest();
  std::lock_guard<std::mutex> lock(mutex_);
  Learn(std::move(latest));
  if (!std::exchange(refusing_, true)) refused_since_ = now;
  if (version == current_.token.version) current_.refused = true;
  if (version == previous_.token.version) previous_.refused = true;
  use_previous_ = current_.refused && previous_.token.version > 0 && !previous_.refused;
  if (use_previous_ || !current_.refused) return Verdict::kTryAgain;
  // Forgets rejections: by the next try, the coordinator may accept either token.
  current_.refused = previous_.refused = false;
  const bool patient = ever_accepted_ && now - refused_since_ < kPatience;
  return patient ? Verdict::kTryAgainLater : Verdict::kFinal;
}

}  // namespace muster
