#ifndef MUSTER_SERVER_SERVICE_CREDENTIALS_AUTH_FAILURE_LOG_H_
#define MUSTER_SERVER_SERVICE_CREDENTIALS_AUTH_FAILURE_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::service {

// The log lines about calls that were refused for their credentials. The first refusal of a host is
// logged at once, later ones at most every ten seconds with the number of calls. At most kMaxHosts
// hosts are told apart; the others are counted together. `now` comes from a clock that never goes
// back. Not thread-safe.
class AuthFailureLog {
 public:
  static constexpr absl::Duration kLineInterval = absl::Seconds(10);
  static constexpr size_t kMaxHosts = 64;

  // Counts a refused call. `host` is the peer's address without its port. `why` says which
  // credential the caller should have sent.
  void Add(const std::string& host, const std::string& why, absl::Time now);
  // Returns the lines to write now. Call it after Add(), and about once a second.
  std::vector<std::string> TakeLines(absl::Time now);

 private:
  struct Host {
    uint64_t calls = 0;  // since the last line
    std::string why;
    absl::Time next = absl::InfinitePast();
  };

  std::map<std::string, Host> hosts_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CREDENTIALS_AUTH_FAILURE_LOG_H_
