#ifndef MUSTER_SERVER_SERVICE_CREDENTIALS_ACCEPTED_TOKENS_H_
#define MUSTER_SERVER_SERVICE_CREDENTIALS_ACCEPTED_TOKENS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::service {

// The tokens that a job accepts: the current token, and each replaced token for `overlap` after its
// replacement. So no caller is refused while the processes of the job get the new token. `now`
// comes from a clock that never goes back. Not thread-safe.
class AcceptedTokens {
 public:
  explicit AcceptedTokens(absl::Duration overlap) : overlap_(overlap) {}

  // Makes `token` the current token. Returns false if it already is.
  bool Replace(const std::string& token, absl::Time now);
  // Returns whether `token` is the current token, or was replaced less than `overlap` ago.
  bool Accepts(absl::string_view token, absl::Time now) const;

 private:
  struct Replaced {
    std::string token;
    absl::Time valid_until;
  };

  const absl::Duration overlap_;
  std::string current_;
  std::vector<Replaced> replaced_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CREDENTIALS_ACCEPTED_TOKENS_H_
