#include "client/gloo/card.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/identity.h"
#include "client/src/peer_names.h"
#include "muster/codec.h"

namespace muster::internal {
namespace {

constexpr absl::string_view kAdvice =
    "; set MUSTER_INTERFACE (or CommunicatorOptions::interface) to the network interface or IP "
    "address at which the others reach each process";

std::string Offer(const Group& group, const std::vector<GlooCard>& cards, int index) {
  return absl::StrCat(DescribePeer(group, index), " on host ", cards[index].host, " offers ",
                      cards[index].address, " (", cards[index].interface, ")");
}

// The first rank on another host than `index`; -1 if there is none.
int RankOnAnotherHost(const std::vector<GlooCard>& cards, int index) {
  for (size_t i = 0; i < cards.size(); ++i) {
    if (cards[i].host != cards[index].host) return static_cast<int>(i);
  }
  return -1;
}

absl::Status CheckLoopback(const Group& group, const std::vector<GlooCard>& cards, int index) {
  if (!cards[index].loopback) return absl::OkStatus();
  const int other = RankOnAnotherHost(cards, index);
  if (other < 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Offer(group, cards, index), ", a loopback address, but ",
                   DescribePeer(group, other), " is on host ", cards[other].host, kAdvice));
}

absl::Status CheckFamily(const Group& group, const std::vector<GlooCard>& cards, int index) {
  if (cards[index].ipv6 == cards[0].ipv6) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Offer(group, cards, 0), " and ", Offer(group, cards, index),
      ": one is an IPv4 address, the other an IPv6 address; all must be of one kind", kAdvice));
}

}  // namespace

GlooCard MakeGlooCard(const NetworkAddress& address) {
  GlooCard card;
  card.host = DefaultNodeId();
  card.address = address.text;
  card.interface = address.interface;
  card.loopback = address.is_loopback();
  card.ipv6 = address.is_ipv6();
  return card;
}

std::string EncodeGlooCard(const GlooCard& card) {
  std::string bytes;
  Codec<std::string>::Append(card.host, &bytes);
  Codec<std::string>::Append(card.address, &bytes);
  Codec<std::string>::Append(card.interface, &bytes);
  Codec<bool>::Append(card.loopback, &bytes);
  Codec<bool>::Append(card.ipv6, &bytes);
  Codec<std::vector<std::string>>::Append(card.endpoints, &bytes);
  return bytes;
}

absl::StatusOr<GlooCard> DecodeGlooCard(absl::string_view bytes) {
  absl::StatusOr<std::string> host = Codec<std::string>::Read(&bytes);
  if (!host.ok()) return host.status();
  absl::StatusOr<std::string> address = Codec<std::string>::Read(&bytes);
  if (!address.ok()) return address.status();
  absl::StatusOr<std::string> interface = Codec<std::string>::Read(&bytes);
  if (!interface.ok()) return interface.status();
  const absl::StatusOr<bool> loopback = Codec<bool>::Read(&bytes);
  if (!loopback.ok()) return loopback.status();
  const absl::StatusOr<bool> ipv6 = Codec<bool>::Read(&bytes);
  if (!ipv6.ok()) return ipv6.status();
  absl::StatusOr<std::vector<std::string>> endpoints =
      Codec<std::vector<std::string>>::Read(&bytes);
  if (!endpoints.ok()) return endpoints.status();
  return GlooCard{
      *std::move(host),     *std::move(address), *std::move(interface), *loopback, *ipv6,
      *std::move(endpoints)};
}

absl::Status CheckGlooCards(const Group& group, const std::vector<GlooCard>& cards) {
  for (int i = 0; i < static_cast<int>(cards.size()); ++i) {
    if (static_cast<int>(cards[i].endpoints.size()) != group.size()) {
      return absl::InternalError(absl::StrCat(DescribePeer(group, i), " offers ",
                                              cards[i].endpoints.size(), " endpoints, expected ",
                                              group.size()));
    }
    absl::Status status = CheckLoopback(group, cards, i);
    if (status.ok()) status = CheckFamily(group, cards, i);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace muster::internal
