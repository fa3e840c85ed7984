#include "server/service/credentials/auth_failure_log.h"

#include "absl/strings/str_cat.h"

namespace muster::service {
namespace {

constexpr char kOtherHosts[] = "other addresses";

}  // namespace

void AuthFailureLog::Add(const std::string& host, const std::string& why, absl::Time now) {
  const bool room = hosts_.count(host) > 0 || hosts_.size() < kMaxHosts;
  Host& entry = hosts_[room ? host : kOtherHosts];
  ++entry.calls;
  entry.why = why;
}

std::vector<std::string> AuthFailureLog::TakeLines(absl::Time now) {
  std::vector<std::string> lines;
  for (auto next = hosts_.begin(); next != hosts_.end();) {
    const auto host = next++;
    Host& entry = host->second;
    if (now < entry.next) continue;
    if (entry.calls == 0) {
      hosts_.erase(host);
      continue;
    }
    lines.push_back(absl::StrCat("refused ", entry.calls, entry.calls == 1 ? " call" : " calls",
                                 " from ", host->first, ": ", entry.why));
    entry.calls = 0;
    entry.next = now + kLineInterval;
  }
  return lines;
}

}  // namespace muster::service
