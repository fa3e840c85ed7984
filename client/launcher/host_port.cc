#include "client/launcher/host_port.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::launcher {
namespace {

constexpr int kMaxPort = 65535;

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a valid address: ", why,
                                                 "; expected host:port or [ipv6]:port"));
}

bool IsHostCharacter(char c) { return absl::ascii_isgraph(c) && c != '/' && c != '[' && c != ']'; }

}  // namespace

std::string HostPort::ToString() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(text, "it has no port");
  absl::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find(':') != absl::string_view::npos) {
    return Malformed(text, "an IPv6 address needs brackets");
  }
  if (host.empty()) return Malformed(text, "the host is missing");
  if (!std::all_of(host.begin(), host.end(), IsHostCharacter)) {
    return Malformed(text, "the host contains a character that is not allowed there");
  }
  const absl::string_view digits = text.substr(colon + 1);
  int port = 0;
  const bool number = !digits.empty() &&
                      std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) &&
                      absl::SimpleAtoi(digits, &port);
  if (!number || port < 1 || port > kMaxPort)
    return Malformed(text, "the port is not a number from 1 to 65535");
  return HostPort{std::string(host), port};
}

}  // namespace muster::launcher
