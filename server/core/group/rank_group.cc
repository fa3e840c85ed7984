#include "server/core/group/rank_group.h"

#include <algorithm>

#include "common/names/group_digest.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

std::vector<std::pair<uint32_t, uint32_t>> ByRank(const std::vector<uint32_t>& ranks) {
  std::vector<std::pair<uint32_t, uint32_t>> by_rank;
  for (uint32_t i = 0; i < ranks.size(); ++i) by_rank.emplace_back(ranks[i], i);
  std::sort(by_rank.begin(), by_rank.end());
  return by_rank;
}

}  // namespace

RankGroup::RankGroup(GroupName name, std::vector<uint32_t> ranks)
    : name_(std::move(name)),
      ranks_(std::move(ranks)),
      description_(DescribeGroup(name_)),
      digest_(name_.name.empty() ? "" : GroupDigest(name_.name, name_.ranks)),
      by_rank_(ByRank(ranks_)) {}

std::optional<uint32_t> RankGroup::IndexOf(uint32_t rank) const {
  const auto it = std::lower_bound(by_rank_.begin(), by_rank_.end(), std::make_pair(rank, 0u));
  if (it == by_rank_.end() || it->first != rank) return std::nullopt;
  return it->second;
}

}  // namespace muster::core
