#include "server/service/credentials/accepted_tokens.h"

#include <algorithm>

#include "common/credentials/token.h"

namespace muster::service {

bool AcceptedTokens::Replace(const std::string& token, absl::Time now) {
  if (token == current_) return false;
  if (!current_.empty()) replaced_.push_back({current_, now + overlap_});
  const auto over = [&](const Replaced& r) { return r.token == token || now >= r.valid_until; };
  replaced_.erase(std::remove_if(replaced_.begin(), replaced_.end(), over), replaced_.end());
  current_ = token;
  return true;
}

bool AcceptedTokens::Accepts(absl::string_view token, absl::Time now) const {
  if (token.empty()) return false;
  bool accepts = TokensEqual(token, current_);
  for (const Replaced& r : replaced_) {
    accepts |= now < r.valid_until && TokensEqual(token, r.token);
  }
  return accepts;
}

}  // namespace muster::service
