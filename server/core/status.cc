// The status page: what the coordinator knows, in the words of its errors.

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

absl::string_view CallName(Waiter::Call call) {
  switch (call) {
    case Waiter::Call::kJoin:
      return "Join";
    case Waiter::Call::kRejoin:
      return "Rejoin";
    case Waiter::Call::kCollective:
      return "a collective";
    case Waiter::Call::kLease:
      return "AcquireLease";
    case Waiter::Call::kLeave:
      return "Leave";
    case Waiter::Call::kPutOff:
      return "a call that is put off until the coordinator has recovered";
  }
  return "";
}

std::string WaitWords(const Waiter& waiter) {
  if (waiter.call == Waiter::Call::kCollective) {
    const uint32_t index = *waiter.group->IndexOf(*waiter.member->rank);
    return waiter.group->OperationAt(index, waiter.sequence);
  }
  if (waiter.call == Waiter::Call::kLease) {
    return LeaseWords(waiter.lease.name, waiter.lease.scope, waiter.lease.node_id);
  }
  return std::string(CallName(waiter.call));
}

std::vector<const Member*> InOrder(
    const Epoch* epoch, const absl::flat_hash_map<Incarnation, std::unique_ptr<Member>>& members) {
  std::vector<const Member*> order;
  if (epoch != nullptr) order.assign(epoch->members.begin(), epoch->members.end());
  std::map<uint64_t, const Member*> others;
  for (const auto& [incarnation, member] : members) {
    if (!member->rank) others[member->arrival] = member.get();
  }
  for (const auto& [arrival, member] : others) order.push_back(member);
  return order;
}

}  // namespace

MemberState Coordinator::Impl::StateOf(const Member& member) {
  if (member.lost) return MemberState::kLost;
  if (member.left) return MemberState::kLeft;
  if (member.awaited()) return MemberState::kAwaited;
  if (member.stopped_since) return MemberState::kStopped;
  if (!member.attached()) return MemberState::kDetached;
  if (member.leaving) return MemberState::kLeaving;
  if (member.rank && !member.wish) return MemberState::kRunning;
  return member.wish ? MemberState::kJoining : MemberState::kAttached;
}

std::string Coordinator::Impl::StateWords() const {
  if (recovering()) return AwaitedWords();
  if (state_ == JobState::kForming) return DecideOn(ChooseMembers()).reason;
  if (state_ != JobState::kReforming) return reason_;
  return absl::StrCat(reason_, "; the next epoch: ", DecideOn(ChooseMembers()).reason);
}

MemberStatus Coordinator::Impl::StatusOf(const Member& member, Time now) const {
  MemberStatus status{member.identity,
                      member.rank,
                      0,
                      0,
                      StateOf(member),
                      member.last_collective,
                      "",
                      {},
                      now - member.last_call,
                      member.activity.Words(now)};
  if (member.rank) {
    const RosterEntry& place = (*epoch_->roster)[*member.rank];
    status.local_rank = place.local_rank;
    status.node_rank = place.node_rank;
  }
  if (!member.parked.empty()) {
    const Waiter& waiter = waiters_.at(*member.parked.begin());
    status.waiting_in = WaitWords(waiter);
    status.waiting_for = now - waiter.since;
  }
  return status;
}

LeaseStatus Coordinator::Impl::StatusOf(const LeaseKey& key, const LeaseTable::Lease& lease,
                                        Time now) const {
  LeaseStatus status{key.name,
                     key.scope,
                     key.node_id,
                     {},
                     {},
                     0,
                     lease.result.has_value(),
                     static_cast<uint32_t>(lease.queue.size()),
                     {}};
  if (lease.result) status.token = lease.result->token;
  if (lease.holder) {
    const Member& holder = *members_.at(lease.holder->request.member);
    status.holder = holder.identity;
    status.holder_rank = holder.rank;
    status.token = lease.holder->token;
    status.held_for = now - lease.holder->since;
  }
  return status;
}

std::vector<PendingCollective> Coordinator::Impl::PendingCollectives(Time now) const {
  std::vector<PendingCollective> pending;
  if (!epoch_) return pending;
  for (const auto& [key, group] : epoch_->groups) {
    if (!group->pending()) continue;
    pending.push_back({group->name().name, group->sequence(), group->PendingOperation(),
                       group->Arrived(), group->Missing(group->sequence()),
                       now - group->first_arrival(), now - group->last_arrival()});
  }
  return pending;
}

JobStatus Coordinator::Impl::GetStatus(Time now) const {
  JobStatus status;
  status.state = recovering() ? JobState::kRecovering : state_;
  status.reason = StateWords();
  status.world_size = WorldSize();
  if (epoch_) status.epoch = epoch_->id;
  for (const Member* member : InOrder(epoch_.get(), members_)) {
    status.members.push_back(StatusOf(*member, now));
  }
  status.pending = PendingCollectives(now);
  for (const auto& [key, lease] : leases_.all()) {
    status.leases.push_back(StatusOf(key, lease, now));
  }
  status.recent_failures.assign(failures_.begin(), failures_.end());
  if (elastic()) {
    status.min_world_size = options_.min_world_size;
    status.max_world_size = Places();
  }
  for (const auto& [arrival, member] : candidates_) {
    status.newcomers_waiting += epoch_ && !member->rank;
  }
  status.stop_requested = stop_asked_;
  return status;
}

}  // namespace muster::core
