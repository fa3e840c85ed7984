#include "client/src/group/rank_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/names/node_names.h"
#include "common/text/number_ranges.h"

namespace muster::internal {
namespace {

// How many members a list describes in full.
constexpr size_t kDescribed = 3;

std::string PlaceOf(const Group& group, const Member& member) {
  NodeNames names;  // nodes with the same host name, from which the name must distinguish this one
  for (int i = 0; i < group.size(); ++i) {
    const Member& other = group.member(i);
    if (other.hostname == member.hostname) names.Add(other.node_id);
  }
  return absl::StrCat(names.Describe(member.node_id), ", pid ", member.pid);
}

}  // namespace

std::string NameOfMember(const Group& group, int index) {
  const Member& member = group.member(index);
  return absl::StrCat("rank ", member.rank, " (", PlaceOf(group, member), ")");
}

std::string DescribePeer(const Group& group, int index) {
  const Member& member = group.member(index);
  const std::string in_job =
      member.rank == index ? "" : absl::StrCat("rank ", member.rank, " of the job, ");
  return absl::StrCat("rank ", index, " (", in_job, PlaceOf(group, member), ")");
}

std::string DescribePeers(const Group& group, const std::vector<int>& indices) {
  const size_t described = std::min(indices.size(), kDescribed);
  std::vector<std::string> names;
  for (size_t i = 0; i < described; ++i) names.push_back(DescribePeer(group, indices[i]));
  if (described < indices.size()) {
    names.push_back(RankList({indices.begin() + described, indices.end()}));
  }
  return absl::StrJoin(names, ", ");
}

std::string RankList(const std::vector<int>& indices) {
  return absl::StrCat(indices.size() == 1 ? "rank " : "ranks ", NumberRanges(indices));
}

}  // namespace muster::internal
