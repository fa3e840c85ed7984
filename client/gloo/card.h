#ifndef MUSTER_CLIENT_GLOO_CARD_H_
#define MUSTER_CLIENT_GLOO_CARD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/gloo/network_interface.h"
#include "muster/group.h"

namespace muster::internal {

// What a rank tells its peers so that they can connect to it.
struct GlooCard {
  std::string host;       // different on different hosts, whatever MUSTER_NODE_ID says
  std::string address;    // "192.0.2.7"
  std::string interface;  // "eth0"
  bool loopback = false;
  bool ipv6 = false;
  // In Gloo's own encoding, where each rank of the group is to connect to; empty for itself.
  std::vector<std::string> endpoints;
};

// A card without its endpoints.
GlooCard MakeGlooCard(const NetworkAddress& address);

std::string EncodeGlooCard(const GlooCard& card);
absl::StatusOr<GlooCard> DecodeGlooCard(absl::string_view bytes);

// FAILED_PRECONDITION if two ranks cannot reach each other at the addresses that they offer: a
// loopback address and different hosts, or IPv4 and IPv6. Names both.
absl::Status CheckGlooCards(const Group& group, const std::vector<GlooCard>& cards);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CARD_H_
