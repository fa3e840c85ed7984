#ifndef MUSTER_SERVER_SERVICE_REFUSAL_LOG_H_
#define MUSTER_SERVER_SERVICE_REFUSAL_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::service {

// Calls that were refused for their credentials, as log lines: one for each host at once, and then
// one every ten seconds with the number of calls. Hosts are few: of more than that only the sum is
// told. `now` is of a clock that does not go back.
class RefusalLog {
 public:
  static constexpr absl::Duration kBetweenLines = absl::Seconds(10);
  static constexpr size_t kMostHosts = 64;

  // `host`: the peer's address without its port. `why`: what it should have sent.
  void Add(const std::string& host, const std::string& why, absl::Time now);
  // What is to be written now. Call after Add(), and about every second.
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

#endif  // MUSTER_SERVER_SERVICE_REFUSAL_LOG_H_
