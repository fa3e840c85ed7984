#ifndef MUSTER_CLIENT_SRC_ADDRESS_H_
#define MUSTER_CLIENT_SRC_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::internal {

// A coordinator's address as the user wrote it, taken apart.
struct Address {
  std::string host;  // a name or an IP address, without brackets
  int port = 0;

  // "host:port", "[ipv6]:port".
  std::string ToString() const;
  bool is_ipv4() const;
  bool is_ipv6() const;
};

// INVALID_ARGUMENT says what is wrong and what was expected.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

// The local IP address from which packets to the IP address `peer` leave; empty if there is no
// route.
std::string LocalAddressTowards(const std::string& peer);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ADDRESS_H_
