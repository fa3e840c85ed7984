#include "server/core/formation/placement_requests.h"

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

std::string DescribeCandidate(const Candidate& candidate) {
  return DescribeMember(std::nullopt, candidate.member, NodeNames());
}

absl::Status BelowWorldSize(absl::string_view what, std::optional<uint32_t> value, uint32_t size) {
  if (!value || size == 0 || *value < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", *value,
                                                 " is out of range: the job has ", size,
                                                 " members, so it must be below that"));
}

absl::Status CheckRange(const PlacementConstraints& constraints, uint32_t size) {
  if (absl::Status s = BelowWorldSize("rank", constraints.rank, size); !s.ok()) return s;
  if (absl::Status s = BelowWorldSize("local rank", constraints.local_rank, size); !s.ok())
    return s;
  return BelowWorldSize("node rank", constraints.node_rank, size);
}

std::string DescribeRequestedRank(const PlacementConstraints& constraints) {
  return constraints.rank ? absl::StrCat("asks for rank ", *constraints.rank) : "asks for none";
}

}  // namespace

absl::Status PlacementRequests::Check(Id id, const Candidate& candidate, uint32_t size) const {
  if (absl::Status s = CheckRange(candidate.constraints, size); !s.ok()) return s;
  if (absl::Status s = CheckAllOrNoneAskForRanks(id, candidate); !s.ok()) return s;
  return CheckHolder(id, candidate);
}

absl::Status PlacementRequests::CheckHolder(Id id, const Candidate& candidate) const {
  const std::optional<Conflict> conflict = FindConflict(id, candidate);
  if (!conflict) return absl::OkStatus();
  const MemberIdentity& holder = candidates_.at(conflict->holder).member;
  if (candidate.member.start_time_micros >= holder.start_time_micros) return absl::OkStatus();
  return PlaceTaken(candidate, *conflict);
}

absl::Status PlacementRequests::CheckAllOrNoneAskForRanks(Id id, const Candidate& candidate) const {
  auto other = candidates_.begin();
  if (other != candidates_.end() && other->first == id) ++other;
  if (other == candidates_.end()) return absl::OkStatus();
  const PlacementConstraints& constraints = other->second.constraints;
  if (constraints.rank.has_value() == candidate.constraints.rank.has_value())
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "either every member asks for a rank or none does: ", DescribeCandidate(candidate), " ",
      DescribeRequestedRank(candidate.constraints), ", ", DescribeCandidate(other->second), " ",
      DescribeRequestedRank(constraints), "; set MUSTER_RANK for all processes or for none"));
}

bool PlacementRequests::Enter(Id id, Candidate candidate, Time contends_until) {
  const bool contends = FindConflict(id, candidate).has_value();
  if (contends) {
    contenders_.Set(id, contends_until);
  } else {
    TakePlace(id, candidate);
  }
  candidates_.insert_or_assign(id, std::move(candidate));
  return contends;
}

void PlacementRequests::Leave(Id id) {
  const auto it = candidates_.find(id);
  if (it == candidates_.end()) return;
  const auto free = [id](auto& places, const auto& place) {
    const auto holder = places.find(place);
    if (holder != places.end() && holder->second == id) places.erase(holder);
  };
  const auto& [member, constraints] = it->second;
  if (constraints.rank) free(ranks_, *constraints.rank);
  if (constraints.local_rank)
    free(local_ranks_, std::pair(member.node_id, *constraints.local_rank));
  contenders_.Clear(id);
  candidates_.erase(it);
  if (candidates_.empty() && !elastic_) agreed_size_ = 0;
}

std::optional<PlacementRequests::Conflict> PlacementRequests::FindConflict(
    Id id, const Candidate& candidate) const {
  const PlacementConstraints& constraints = candidate.constraints;
  if (constraints.rank) {
    const auto it = ranks_.find(*constraints.rank);
    if (it != ranks_.end() && it->second != id) {
      return Conflict{it->second, absl::StrCat("rank ", *constraints.rank)};
    }
  }
  if (constraints.local_rank) {
    const std::string& node = candidate.member.node_id;
    const auto it = local_ranks_.find({node, *constraints.local_rank});
    if (it != local_ranks_.end() && it->second != id) {
      return Conflict{it->second, absl::StrCat("local rank ", *constraints.local_rank, " of ",
                                               NodeNames().Describe(node))};
    }
  }
  return std::nullopt;
}

absl::Status PlacementRequests::PlaceTaken(const Candidate& newcomer,
                                           const Conflict& conflict) const {
  return core::PlaceTaken(conflict.place, DescribeCandidate(candidates_.at(conflict.holder)),
                          DescribeCandidate(newcomer));
}

std::optional<PlacementRequests::Decision> PlacementRequests::Decide(
    Time now, absl::FunctionRef<bool(Id)> is_attached) {
  for (auto it = candidates_.begin(); it != candidates_.end() && !contenders_.empty(); ++it) {
    const auto& [id, candidate] = *it;
    if (!Contends(id)) continue;
    std::optional<Conflict> conflict = FindConflict(id, candidate);
    if (!conflict) {
      contenders_.Clear(id);
      TakePlace(id, candidate);
      continue;
    }
    const bool displaces = !is_attached(conflict->holder);
    if (displaces || contenders_.At(id) <= now)
      return Decision{id, *std::move(conflict), displaces};
  }
  return std::nullopt;
}

uint32_t PlacementRequests::CountContenders(absl::FunctionRef<bool(Id)> is) const {
  uint32_t count = 0;
  contenders_.ForEach([&](Id id) { count += is(id); });
  return count;
}

void PlacementRequests::TakePlace(Id id, const Candidate& candidate) {
  const PlacementConstraints& constraints = candidate.constraints;
  if (constraints.rank) ranks_[*constraints.rank] = id;
  if (constraints.local_rank)
    local_ranks_[{candidate.member.node_id, *constraints.local_rank}] = id;
}

void PlacementRequests::Agree(uint32_t size, std::string by) {
  agreed_size_ = size;
  agreed_by_ = std::move(by);
}

std::optional<std::pair<PlacementRequests::Id, absl::Status>> PlacementRequests::FindOutOfRange(
    uint32_t size) const {
  for (const auto& [id, candidate] : candidates_) {
    if (absl::Status s = CheckRange(candidate.constraints, size); !s.ok()) return std::pair(id, s);
  }
  return std::nullopt;
}

std::vector<uint32_t> PlacementRequests::UnrequestedRanks(uint32_t size) const {
  std::vector<uint32_t> unasked;
  for (uint32_t rank = 0; !ranks_.empty() && rank < size; ++rank) {
    if (ranks_.count(rank) == 0) unasked.push_back(rank);
  }
  return unasked;
}

}  // namespace muster::core
