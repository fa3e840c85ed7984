#include "common/names/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace muster {
namespace {

constexpr int kMaxPort = 65535;

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a valid address: ", why,
                                                 "; expected host:port or [ipv6]:port"));
}

bool IsLiteral(int family, const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(family, host.c_str(), bytes) == 1;
}

bool IsHostCharacter(char c) { return absl::ascii_isgraph(c) && c != '/' && c != '[' && c != ']'; }

// Accepts digits only. absl::SimpleAtoi() would accept signs and spaces too.
bool ParsePort(absl::string_view digits, int min, int* port) {
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(digits, port) && *port >= min && *port <= kMaxPort;
}

}  // namespace

std::string HostPort::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

bool HostPort::is_ipv4() const { return IsLiteral(AF_INET, host); }
bool HostPort::is_ipv6() const { return IsLiteral(AF_INET6, host); }

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text, int min_port) {
  if (const size_t scheme = text.find("://"); scheme != absl::string_view::npos) {
    return Malformed(text, absl::StrCat("leave out ", text.substr(0, scheme), "://"));
  }
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(text, "it has no port");
  absl::string_view host = text.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  HostPort address{std::string(host), 0};
  if (host.empty()) return Malformed(text, "the host is missing");
  if (bracketed != absl::StrContains(host, ':')) {
    return Malformed(text, bracketed ? "there is no IPv6 address in its brackets"
                                     : "an IPv6 address needs brackets");
  }
  if (!std::all_of(host.begin(), host.end(), IsHostCharacter)) {
    return Malformed(text, "the host contains a character that is not allowed there");
  }
  if (!ParsePort(text.substr(colon + 1), min_port, &address.port)) {
    return Malformed(text, absl::StrCat("the port is not a number from ", min_port, " to 65535"));
  }
  return address;
}

absl::StatusOr<HostPort> ParseMetricsAddress(absl::string_view text) {
  absl::string_view port = text;
  absl::ConsumePrefix(&port, ":");
  const bool alone = !port.empty() && std::all_of(port.begin(), port.end(), absl::ascii_isdigit);
  absl::StatusOr<HostPort> address =
      ParseHostPort(alone ? absl::StrCat("127.0.0.1:", port) : std::string(text), /*min_port=*/0);
  if (address.ok()) return address;
  return absl::InvalidArgumentError(absl::StrCat(
      address.status().message(), ", or a port alone, such as 9100, for this machine only"));
}

HostPort LoopbackIfWildcard(HostPort address) {
  if (address.host == "0.0.0.0") address.host = "127.0.0.1";
  if (address.host == "::") address.host = "::1";
  return address;
}

std::optional<HostPort> ParsePeer(absl::string_view uri) {
  const std::string text = absl::StrReplaceAll(uri, {{"%5B", "["}, {"%5D", "]"}});
  absl::string_view address = text;
  if (!absl::ConsumePrefix(&address, "ipv4:") && !absl::ConsumePrefix(&address, "ipv6:")) {
    return std::nullopt;
  }
  absl::StatusOr<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return std::nullopt;
  return *std::move(parsed);
}

std::string ParsePeerHost(absl::string_view uri) {
  const std::optional<HostPort> peer = ParsePeer(uri);
  return peer ? peer->host : "";
}

}  // namespace muster
