#include "client/src/protocol/groups/member_epochs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/protocol/messages/messages.h"
#include "common/text/fnv1a.h"

namespace muster::internal {
namespace {

std::vector<int> RanksOfNode(const v1::JoinResponse& place) {
  const std::string& node = place.roster(static_cast<int>(place.rank())).member().node_id();
  std::vector<int> ranks;
  for (int rank = 0; rank < place.roster_size(); ++rank) {
    if (place.roster(rank).member().node_id() == node) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

void MemberEpochs::Entered(SteadyTime now, v1::JoinResponse place) {
  const EpochId entered = EpochOf(place.epoch());
  if (IsIn(entered)) return;
  if (const std::optional<EpochId> old = epoch()) {
    Ended(*old, {absl::AbortedError(absl::StrCat(
                     "epoch ", old->number, " has ended: this process, rank ", place_->rank(),
                     " of it, is rank ", place.rank(), " of epoch ", entered.number)),
                 {},
                 now,
                 true});
  }
  place_ = std::move(place);
  node_ranks_ = RanksOfNode(*place_);
  by_digest_.clear();
  groups_.clear();
  handles_.clear();
  stop_sequence_.reset();
  newcomers_ = 0;
  ended_.merge(ended_early_);
  ended_early_.clear();
}

std::optional<EpochId> MemberEpochs::epoch() const {
  if (!place_) return std::nullopt;
  return EpochOf(place_->epoch());
}

void MemberEpochs::Ended(const EpochId& epoch, EpochEnd end) {
  if (!IsIn(epoch) && place_ && epoch < *this->epoch()) return;
  auto& ends = IsIn(epoch) ? ended_ : ended_early_;
  const auto [known, is_new] = ends.emplace(epoch, end);
  if (is_new) return;
  if (end.may_rejoin) known->second.may_rejoin = end.may_rejoin;
  if (known->second.failures.empty()) known->second.failures = std::move(end.failures);
}

bool MemberEpochs::IsLast() const {
  const auto ended = place_ ? ended_.find(*epoch()) : ended_.end();
  return ended != ended_.end() && !ended->second.may_rejoin.value_or(true);
}

absl::Status MemberEpochs::HealthOf(const EpochId& epoch) const {
  const auto ended = ended_.find(epoch);
  return ended == ended_.end() ? absl::OkStatus() : ended->second.why;
}

const std::shared_ptr<MemberGroup>& MemberEpochs::GroupOf(const std::string& name,
                                                          const std::vector<int>& ranks) {
  const auto [entry, is_new] = groups_.try_emplace({name, ranks});
  std::shared_ptr<MemberGroup>& group = entry->second;
  if (is_new) {
    group = std::make_shared<MemberGroup>(name, ranks, AtNode(name, ranks));
    if (!group->is_world()) by_digest_[group->digest] = group.get();
  }
  return group;
}

std::shared_ptr<const NodeGroup> MemberEpochs::AtNode(const std::string& name,
                                                      const std::vector<int>& ranks) const {
  NodeGroup group;
  group.name = Fnv1a64(absl::StrCat(name, "\n", absl::StrJoin(ranks, ",")));
  for (uint32_t member = 0; member < node_ranks_.size(); ++member) {
    const bool in_it = ranks.empty() || std::count(ranks.begin(), ranks.end(), node_ranks_[member]);
    if (in_it) group.members.push_back(member);
  }
  if (group.members.size() < 2) return nullptr;
  return std::make_shared<const NodeGroup>(std::move(group));
}

std::shared_ptr<MemberGroup> MemberEpochs::FindGroup(const GroupId& group) const {
  if (!IsIn(group.epoch)) return nullptr;
  const auto known = groups_.find({group.name, group.ranks});
  return known == groups_.end() ? nullptr : known->second;
}

MemberGroup* MemberEpochs::FindDigest(const std::string& digest) const {
  const auto group = by_digest_.find(digest);
  return group == by_digest_.end() ? nullptr : group->second;
}

void MemberEpochs::ForgetGroup(const MemberGroup& group) {
  by_digest_.erase(group.digest);
  groups_.erase({group.name, group.ranks});
}

void MemberEpochs::Hold(const GroupId& group) {
  if (IsIn(group.epoch)) ++handles_[{group.name, group.ranks}];
}

MemberGroup* MemberEpochs::Drop(const GroupId& group) {
  if (!IsIn(group.epoch)) return nullptr;
  const auto handles = handles_.find({group.name, group.ranks});
  if (handles == handles_.end() || --handles->second > 0) return nullptr;
  handles_.erase(handles);
  MemberGroup* const known = FindGroup(group).get();
  return known != nullptr && known->release.Release() ? known : nullptr;
}

bool MemberEpochs::IsNameInUse(const MemberGroup& group) const {
  for (auto other = groups_.lower_bound({group.name, {}});
       other != groups_.end() && other->first.first == group.name; ++other) {
    if (other->second.get() != &group && other->second->release.is_past()) return true;
  }
  return false;
}

void MemberEpochs::StopAgreed(uint64_t sequence) {
  if (!stop_sequence_) stop_sequence_ = sequence;
}

void MemberEpochs::AddTo(SteadyTime now, v1::Claim* claim) const {
  if (!place_) return;
  *claim->mutable_epoch() = place_->epoch();
  const uint64_t early = ended_early_.empty() ? 0 : ended_early_.rbegin()->first.number;
  claim->set_highest_epoch_number(std::max(place_->epoch().number(), early));
  claim->set_rank(place_->rank());
  if (place_->has_history()) *claim->mutable_history() = place_->history();
  for (const auto& [key, group] : groups_) AddGroupTo(*group, claim);
  if (stop_sequence_) claim->set_stop_sequence(*stop_sequence_);
  AddBrokenTo(now, claim);
}

void MemberEpochs::AddGroupTo(const MemberGroup& group, v1::Claim* claim) {
  const std::string finished(group.sequence.finished().message());
  if (group.is_world()) {
    v1::GroupClaim* const world = claim->add_groups();
    world->mutable_group();
    world->set_next_sequence(group.sequence.number());
    world->set_finished(finished);
    return;
  }
  v1::KnownGroup* const known = claim->add_known_groups();
  known->set_digest(group.digest);
  known->set_closed(group.release.closed());
  if (group.release.closed()) return;
  known->set_next_sequence(group.sequence.number());
  known->set_finished(finished);
  known->set_released(group.release.released());
}

void MemberEpochs::AddBrokenTo(SteadyTime now, v1::Claim* claim) const {
  const auto ended = ended_.find(*epoch());
  if (ended == ended_.end()) return;
  const EpochEnd& end = ended->second;
  claim->mutable_broken()->set_reason(std::string(end.why.message()));
  for (const v1::Failure& failure : end.failures) {
    v1::Failure* const known = claim->mutable_broken()->add_failures();
    *known = failure;
    SetDuration(DurationOf(failure.age()) + Between(end.when, now), known->mutable_age());
  }
}

}  // namespace muster::internal
