#include "client/src/exchange/exchange_peer_info.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/group/rank_names.h"
#include "client/src/group/share_or_fail.h"
#include "muster/data_type.h"

namespace muster::internal {
namespace {

using Ranks = google::protobuf::RepeatedField<int32_t>;

std::string List(const Ranks& ranks) { return absl::StrCat("[", absl::StrJoin(ranks, ","), "]"); }

template <class... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

const char* MediumOf(const ExchangePeerInfo& info) {
  return info.through_folder() ? "a folder" : "shared memory";
}

absl::Status CheckSameCall(const ExchangePeerInfo& first, const ExchangePeerInfo& other,
                           const Group& group, int index) {
  if (List(other.ranks()) != List(first.ranks())) {
    return Bad("the ranks of an exchange differ: ", NameOfMember(group, 0), " says ",
               List(first.ranks()), ", ", NameOfMember(group, index), " says ",
               List(other.ranks()));
  }
  if (other.through_folder() == first.through_folder()) return absl::OkStatus();
  return Bad("the ranks of an exchange use different media: ", NameOfMember(group, 0), " uses ",
             MediumOf(first), ", ", NameOfMember(group, index), " uses ", MediumOf(other));
}

absl::Status CheckOneNode(const std::vector<ExchangePeerInfo>& infos, const Group& group) {
  const int first = FirstIndex(infos, group);
  std::vector<std::string> on_other_nodes;
  for (int index = 0; index < group.size(); ++index) {
    const Ranks& ranks = infos[0].ranks();
    const bool listed = std::count(ranks.begin(), ranks.end(), group.ranks()[index]) > 0;
    if (listed && group.member(index).node_rank != group.member(first).node_rank) {
      on_other_nodes.push_back(NameOfMember(group, index));
    }
  }
  if (on_other_nodes.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "shared memory does not reach from one node to another: ", NameOfMember(group, first),
      " cannot see what ", absl::StrJoin(on_other_nodes, ", "),
      " offer; exchange through a shared folder, or among the ranks of each node"));
}

}  // namespace

absl::Status CheckExchangeRanks(const std::vector<int>& ranks, const Group& group) {
  if (ranks.empty()) return Bad("the list of an exchange's ranks is empty; expected at least one");
  std::set<int> seen;
  for (const int rank : ranks) {
    if (!seen.insert(rank).second) return Bad("an exchange names rank ", rank, " twice");
    if (std::count(group.ranks().begin(), group.ranks().end(), rank) > 0) continue;
    return Bad("an exchange names rank ", rank, ", which is not in its group (ranks ",
               absl::StrJoin(group.ranks(), ","), ")");
  }
  return absl::OkStatus();
}

absl::Status CheckPeerInfos(const std::vector<ExchangePeerInfo>& infos, const Group& group) {
  for (int index = 1; index < group.size(); ++index) {
    absl::Status status = CheckSameCall(infos[0], infos[index], group, index);
    if (!status.ok()) return status;
  }
  return infos[0].through_folder() ? absl::OkStatus() : CheckOneNode(infos, group);
}

absl::Status CheckEqualTensors(const std::vector<ExchangePeerInfo>& infos, const Group& group) {
  const int first = FirstIndex(infos, group);
  const ExchangePeerInfo& expected = infos[first];
  for (int index = 0; index < group.size(); ++index) {
    const ExchangePeerInfo& info = infos[index];
    if (!info.offers()) continue;
    if (info.num_bytes() == expected.num_bytes() && info.data_type() == expected.data_type())
      continue;
    return Bad("the tensors of an exchange differ: the tensor of ", NameOfMember(group, first),
               " has ", expected.num_bytes(), " bytes of ",
               NameOf(static_cast<DataType>(expected.data_type())), ", the tensor of ",
               NameOfMember(group, index), " has ", info.num_bytes(), " bytes of ",
               NameOf(static_cast<DataType>(info.data_type())));
  }
  return absl::OkStatus();
}

int FirstIndex(const std::vector<ExchangePeerInfo>& infos, const Group& group) {
  const std::vector<int>& ranks = group.ranks();
  const int first = infos[0].ranks(0);
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), first) - ranks.begin());
}

uint64_t TotalBytes(const std::vector<ExchangePeerInfo>& infos, const Group& group) {
  const int first = FirstIndex(infos, group);
  uint64_t total = 0;
  for (int index = 0; index < group.size(); ++index) {
    if (infos[index].offers() && index != first) total += infos[index].num_bytes();
  }
  return total;
}

}  // namespace muster::internal
