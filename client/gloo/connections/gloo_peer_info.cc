#include "client/gloo/connections/gloo_peer_info.h"

#include "absl/strings/str_cat.h"
#include "client/src/environment/identity.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

constexpr absl::string_view kAdvice =
    "; set MUSTER_INTERFACE (or CommunicatorOptions::interface) to the network interface or IP "
    "address at which the others reach each process";

std::string Offer(const Group& group, const std::vector<GlooPeerInfo>& infos, int index) {
  return absl::StrCat(DescribePeer(group, index), " on host ", infos[index].host(), " offers ",
                      infos[index].address(), " (", infos[index].interface(), ")");
}

// Returns the first rank on another host than rank `index`, or -1 if there is none.
int RankOnAnotherHost(const std::vector<GlooPeerInfo>& infos, int index) {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].host() != infos[index].host()) return static_cast<int>(i);
  }
  return -1;
}

absl::Status CheckLoopback(const Group& group, const std::vector<GlooPeerInfo>& infos, int index) {
  if (!infos[index].loopback()) return absl::OkStatus();
  const int other = RankOnAnotherHost(infos, index);
  if (other < 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Offer(group, infos, index), ", a loopback address, but ",
                   DescribePeer(group, other), " is on host ", infos[other].host(), kAdvice));
}

absl::Status CheckFamily(const Group& group, const std::vector<GlooPeerInfo>& infos, int index) {
  if (infos[index].ipv6() == infos[0].ipv6()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      Offer(group, infos, 0), " and ", Offer(group, infos, index),
      ": one is an IPv4 address, the other an IPv6 address; all must be of one kind", kAdvice));
}

}  // namespace

GlooPeerInfo MakeGlooPeerInfo(const NetworkAddress& address) {
  GlooPeerInfo info;
  info.set_host(DefaultNodeId());
  info.set_boot_id(BootId());
  info.set_address(address.text);
  info.set_interface(address.interface);
  info.set_loopback(address.is_loopback());
  info.set_ipv6(address.is_ipv6());
  return info;
}

absl::Status CheckGlooPeerInfos(const Group& group, const std::vector<GlooPeerInfo>& infos) {
  for (int i = 0; i < static_cast<int>(infos.size()); ++i) {
    if (infos[i].endpoints_size() != group.size()) {
      return absl::InternalError(absl::StrCat(DescribePeer(group, i), " offers ",
                                              infos[i].endpoints_size(), " endpoints, expected ",
                                              group.size()));
    }
    absl::Status status = CheckLoopback(group, infos, i);
    if (status.ok()) status = CheckFamily(group, infos, i);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace muster::internal
