#ifndef MUSTER_SERVER_SERVICE_ACCEPTED_TOKENS_H_
#define MUSTER_SERVER_SERVICE_ACCEPTED_TOKENS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::service {

// The token of a job, and those that it has replaced and that stay good for a while, so that
// nobody is refused while all get the new one. `now` is of a clock that does not go back.
class AcceptedTokens {
 public:
  explicit AcceptedTokens(absl::Duration overlap) : overlap_(overlap) {}

  // From now on this is the token. False if it was already.
  bool Replace(const std::string& token, absl::Time now);
  bool Accepts(absl::string_view token, absl::Time now) const;

 private:
  struct Replaced {
    std::string token;
    absl::Time good_until;
  };

  const absl::Duration overlap_;
  std::string current_;
  std::vector<Replaced> replaced_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_ACCEPTED_TOKENS_H_
