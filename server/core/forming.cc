// The formation of an epoch: who is in it, and what becomes of the one before.

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {

bool Coordinator::Impl::Forming() const {
  return (state_ == JobState::kForming || state_ == JobState::kReforming) && !recovering();
}

// Survivors in rank order, then newcomers by arrival, as many as there are places for.
std::vector<Member*> Coordinator::Impl::ChooseMembers() const {
  std::vector<Member*> chosen;
  uint32_t awaited = 0;
  if (epoch_) {
    for (Member* member : epoch_->members) {
      if (member->comes()) chosen.push_back(member);
      awaited += member->may_come();
    }
  }
  const size_t places = Places();
  if (places > 0 && chosen.size() > places) chosen.resize(places);
  for (const auto& [arrival, member] : candidates_) {
    if (places > 0 && chosen.size() + awaited >= places) break;
    const bool contends = contenders_.Has(member->identity.incarnation);
    if (!member->rank && member->attached() && !contends) chosen.push_back(member);
  }
  return chosen;
}

FormationDecision Coordinator::Impl::DecideOn(const std::vector<Member*>& chosen) const {
  FormationInput in;
  in.places = Places();
  in.minimum = options_.min_world_size;
  for (const Member* member : chosen) {
    ++(member->rank ? in.survivors : in.newcomers);
    in.previous_rank_0_came |= member->rank == 0u;
  }
  if (epoch_) {
    in.previous_size = static_cast<uint32_t>(epoch_->members.size());
    for (const Member* member : epoch_->members) in.awaited += member->may_come();
  }
  in.settled = Settled();
  return DecideFormation(in);
}

void Coordinator::Impl::TryForm() {
  if (!Forming() || draining_ || candidates_.empty()) return;
  if (!elastic() && candidates_.size() < Places()) return;  // as at almost every Join
  const std::vector<Member*> chosen = ChooseMembers();
  const FormationDecision decision = DecideOn(chosen);
  if (!decision.form) return;
  Form(chosen);
  LogFormed(decision.reason);
}

Roster Coordinator::Impl::PlacesOf(const std::vector<Member*>& chosen) const {
  std::vector<Survivor> survivors;
  std::vector<Candidate> newcomers;
  for (const Member* member : chosen) {
    if (member->rank) {
      survivors.push_back({member->identity, *member->rank});
    } else {
      newcomers.push_back({member->identity, *member->wish});
    }
  }
  return epoch_ ? ReassignPlaces(survivors, newcomers, *epoch_->roster) : AssignPlaces(newcomers);
}

void Coordinator::Impl::Form(const std::vector<Member*>& chosen) {
  auto epoch = std::make_unique<Epoch>();
  const uint64_t wall = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMicros(now_)));
  highest_epoch_ = std::max(highest_epoch_, wall) + 1;
  epoch->id = {highest_epoch_, options_.random()};
  epoch->roster = std::make_shared<const Roster>(PlacesOf(chosen));
  const std::unique_ptr<Epoch> previous = std::exchange(epoch_, std::move(epoch));
  for (const RosterEntry& entry : *epoch_->roster) {
    Member* member = members_.at(entry.member.incarnation).get();
    member->rank = static_cast<uint32_t>(epoch_->members.size());
    member->last_collective.clear();
    member->activity = Activity();
    member->asked.clear();
    epoch_->members.push_back(member);
  }
  state_ = JobState::kRunning;
  reason_.clear();
  early_exits_.clear();
  formation_timers_.Clear(FormationTimer::kSettle);
  formation_timers_.Clear(FormationTimer::kRejoin);
  if (previous) Retire(*previous);
  for (Member* member : epoch_->members) {
    const WaiterId waiter = member->join_waiter;
    StopJoining(member);
    Finish(waiter, absl::OkStatus(), JoinAnswer{epoch_->id, *member->rank, epoch_->roster});
  }
  if (elastic()) {
    AnnounceNewcomers();
  } else {
    RefuseCandidates(
        absl::StrCat("the job is full: all of its ", WorldSize(), " members have joined"));
  }
  GrantLeases();
}

void Coordinator::Impl::LogFormed(const std::string& reason) {
  std::set<std::string> nodes;
  for (const Member* member : epoch_->members) nodes.insert(member->identity.node_id);
  Log(Severity::kInfo,
      absl::StrCat("epoch ", epoch_->id.number, " formed: ", epoch_->members.size(), " members on ",
                   nodes.size(), nodes.size() == 1 ? " node: " : " nodes: ", reason));
}

// Those of the epoch before that are not in this one: they were lost or have left, or there is no
// place for them any more.
void Coordinator::Impl::Retire(const Epoch& previous) {
  for (Member* member : previous.members) {
    const uint32_t rank = *member->rank;
    if (rank < epoch_->members.size() && epoch_->members[rank] == member) continue;
    FinishAllOf(member, previous.broken);
    if (member->attached()) EndStream(member, previous.broken);
    Remove(member);
  }
}

// There will be no place for those who still wait for one.
void Coordinator::Impl::RefuseCandidates(const std::string& why) {
  while (!candidates_.empty()) {
    Member* member = candidates_.begin()->second;
    const WaiterId waiter = member->join_waiter;
    StopJoining(member);
    Finish(waiter, absl::FailedPreconditionError(why));
  }
}

}  // namespace muster::core
