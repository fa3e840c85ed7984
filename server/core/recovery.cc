// Recovery: a restarted coordinator hears from the members what their epoch is.
//
// It begins with the first claim and ends when every member of the claimed epoch is here or
// accounted for, or with the recovery grace. Until then calls are put off, nothing is granted and
// no epoch forms; afterwards the calls are served as if they had come then.

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

// Awaited members that a message describes one by one; the list of all is in ranges.
constexpr size_t kMaxDescribed = 4;

bool IsHigher(const EpochId& a, const EpochId& b) {
  return std::tie(a.number, a.nonce) > std::tie(b.number, b.nonce);
}

// Of a member of a claimed epoch: nothing more will be heard of it, or it is here.
bool IsAccountedFor(const Member* member) {
  return member->attached() || member->gone() || member->exit.has_value();
}

std::string CallWords(const MemberCall& call) {
  struct Namer {
    std::string operator()(const JoinRequest&) { return "Join"; }
    std::string operator()(const RejoinRequest&) { return "Rejoin"; }
    std::string operator()(const LeaveRequest&) { return "Leave"; }
    std::string operator()(const CollectiveRequest& c) {
      return absl::StrCat(OperationOf(c), " op ", c.sequence, " of ", GroupWords(c.group));
    }
    std::string operator()(const AcquireLeaseRequest& a) { return Lease("Acquire", a.name); }
    std::string operator()(const CompleteLeaseRequest& c) { return Lease("Complete", c.name); }
    std::string operator()(const AbandonLeaseRequest& a) { return Lease("Abandon", a.name); }
    std::string operator()(const StopRequest&) { return "RequestStop"; }
    static std::string Lease(absl::string_view verb, const std::string& name) {
      return absl::StrCat(verb, "Lease('", name, "')");
    }
  };
  return std::visit(Namer(), call);
}

}  // namespace

uint64_t HeldBytes(const MemberCall& call) {
  if (const auto* collective = std::get_if<CollectiveRequest>(&call)) {
    return collective->payload->size();
  }
  if (const auto* complete = std::get_if<CompleteLeaseRequest>(&call)) {
    return complete->result.value->size();
  }
  return 0;
}

// The highest claimed epoch wins while the recovery lasts. A claim of another one is refused,
// unless the claimant has a place in the winner: the answer that told it so was lost.
absl::Status Coordinator::Impl::ConsiderClaimedEpoch(const MemberIdentity& claimant,
                                                     const Claim& claim) {
  if (!epoch_) {
    recovery_ends_ = now_ + options_.recovery_grace;
    recovery_stall_.Restart(now_);
    WatchForStalls();
    Log(Severity::kInfo,
        absl::StrCat("recovering epoch ", claim.epoch->number, " of ", claim.roster->size(),
                     " members, first claimed by ", Who(claim.rank, claimant)));
    AdoptEpoch(claim);
  } else if (recovering() && IsHigher(*claim.epoch, epoch_->id)) {
    Log(Severity::kWarning,
        absl::StrCat("epoch ", epoch_->id.number, " is superseded by epoch ", claim.epoch->number,
                     ", claimed by ", Who(claim.rank, claimant)));
    DropEpoch(*claim.roster);
    AdoptEpoch(claim);
  }
  const auto it = members_.find(claimant.incarnation);
  const bool same = *claim.epoch == epoch_->id;
  if (it != members_.end() && it->second->rank) {
    if (!same || *it->second->rank == claim.rank) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the claim names rank ", claim.rank,
                                                   " of epoch ", claim.epoch->number, "; it is ",
                                                   it->second->who()));
  }
  return absl::AbortedError(
      absl::StrCat("epoch ", claim.epoch->number, " is over: this job is in ", "epoch ",
                   epoch_->id.number, ", which was formed without this process; start it again"));
}

void Coordinator::Impl::AdoptEpoch(const Claim& claim) {
  epoch_ = std::make_unique<Epoch>();
  epoch_->id = *claim.epoch;
  epoch_->roster = claim.roster;
  epoch_->recovered = true;
  highest_epoch_ = std::max(highest_epoch_, claim.epoch->number);
  state_ = JobState::kRunning;
  reason_.clear();
  for (const RosterEntry& entry : *claim.roster) {
    const auto it = members_.find(entry.member.incarnation);
    Member* member = it != members_.end() ? it->second.get() : AddMember(entry.member);
    member->rank = static_cast<uint32_t>(epoch_->members.size());
    member->activity.Recovered(now_);
    epoch_->members.push_back(member);
  }
  PutOffCandidates();
  for (Member* member : epoch_->members) {
    auto early = early_exits_.extract(member->identity.incarnation);
    if (!early.empty()) NoteExit(member, early.mapped());
  }
}

// Members that the later epoch does not have are turned away; the others are its members, and what
// they have claimed of the dropped one is forgotten.
void Coordinator::Impl::DropEpoch(const Roster& successor) {
  const std::unique_ptr<Epoch> dropped = std::exchange(epoch_, nullptr);
  const absl::Status over = absl::AbortedError(
      absl::StrCat("epoch ", dropped->id.number, " is over: a later one was formed without ",
                   "this process; start it again"));
  absl::flat_hash_set<absl::string_view> kept;
  for (const RosterEntry& entry : successor) kept.insert(entry.member.incarnation);
  for (Member* member : dropped->members) {
    member->rank.reset();
    member->lost.reset();
    member->exit.reset();
    member->leaving = member->left = false;
    if (kept.contains(member->identity.incarnation)) continue;
    leases_.Forget(member->identity.incarnation);
    FinishAllOf(member, over);
    if (member->attached()) EndStream(member, over);
    Remove(member);
  }
}

absl::Status Coordinator::Impl::PutOff(WaiterId id, Member* member, MemberCall call) {
  const CallContext context = std::visit([](const auto& c) { return c.call; }, call);
  // Not final: there will be room when the recovery is over.
  if (absl::Status s = CanPark(); !s.ok()) return absl::UnavailableError(s.message());
  if (absl::Status s = budget_.Reserve(HeldBytes(call)); !s.ok()) {
    return absl::UnavailableError(s.message());
  }
  Waiter waiter(member, Waiter::Call::kPutOff);
  std::string words = CallWords(call);
  waiter.put_off = std::make_shared<const MemberCall>(std::move(call));
  Park(id, std::move(waiter), context, std::move(words));
  put_off_.push_back(id);
  return absl::OkStatus();
}

// Joins that came before the first claim: their callers may have a place already.
void Coordinator::Impl::PutOffCandidates() {
  while (!candidates_.empty()) {
    Member* member = candidates_.begin()->second;
    const PlaceWish wish = *member->wish;
    const WaiterId id = member->join_waiter;
    StopJoining(member);
    const std::optional<Waiter> waiter = Unpark(id);
    const CallContext call{options_.job_id, member->session, member->join_attempt, waiter->timeout,
                           waiter->since};
    JoinRequest request{call,           wish.world_size, wish.rank, wish.local_rank,
                        wish.node_rank, wish.topology};
    if (absl::Status s = PutOff(id, member, std::move(request)); !s.ok()) Refuse(id, s);
  }
}

void Coordinator::Impl::TryEndRecovery() {
  if (!recovering() || !epoch_) return;
  const auto& members = epoch_->members;
  if (std::all_of(members.begin(), members.end(), IsAccountedFor)) EndRecovery();
}

void Coordinator::Impl::EndRecovery() {
  recovery_ends_.reset();
  early_exits_.clear();
  const auto& members = epoch_->members;
  const auto here = [](const Member* m) { return m->attached(); };
  Log(Severity::kInfo, absl::StrCat("epoch ", epoch_->id.number, " is recovered: ",
                                    std::count_if(members.begin(), members.end(), here), " of ",
                                    members.size(), " members are here"));
  if (!epoch_->broken.ok()) {
    for (Member* member : members) {
      if (member->leaving && !member->gone()) MarkLeft(member);
    }
  }
  SettleAbsent();
  if (state_ == JobState::kReforming) StartReforming();
  ServePutOffCalls();
  TryFinishLeaving();
  GrantLeases();
}

// Who has not come back is lost. But Leave is answered when all are leaving: where everybody who is
// here only leaves, the others may have had their answer and ended.
void Coordinator::Impl::SettleAbsent() {
  std::vector<Loss> absent;
  bool any_here = false;
  bool all_leave = true;
  for (Member* member : epoch_->members) {
    any_here |= member->attached();
    if (member->attached() || member->gone()) {
      all_leave &= member->leaving || member->gone();
      continue;
    }
    const std::string grace = absl::FormatDuration(options_.recovery_grace);
    absent.emplace_back(member, member->exit
                                    ? ExitCause(*member->exit)
                                    : absl::StrCat("it did not attach to the restarted coordinator "
                                                   "within ",
                                                   grace));
  }
  if (state_ == JobState::kFailed || (any_here && all_leave)) {
    for (const auto& [member, cause] : absent) MarkLeft(member);
  } else {
    Lose(absent);
  }
}

void Coordinator::Impl::ServePutOffCalls() {
  for (WaiterId id : std::exchange(put_off_, {})) {
    const auto it = waiters_.find(id);
    if (it == waiters_.end()) continue;  // answered or withdrawn meanwhile
    Withdraw(id);
    const Waiter waiter = *Unpark(id);
    const auto serve = [&](auto call) {
      call.call.since = waiter.since;
      return Serve(id, waiter.member, call);
    };
    if (absl::Status s = std::visit(serve, *waiter.put_off); !s.ok()) Refuse(id, s);
  }
}

void Coordinator::Impl::AskForContributions(CollectiveGroup* group) {
  const uint64_t sequence = group->sequence() - 1;
  for (uint32_t rank : group->NeededContributors()) {
    Member* member = epoch_->members[rank];
    if (!member->attached() || !member->asked.insert({group, sequence}).second) continue;
    Send(member, NeedContribution{epoch_->id, group->name(), sequence});
  }
}

std::string Coordinator::Impl::AwaitedWords() const {
  std::vector<uint32_t> awaited;
  std::vector<std::string> named;
  for (const Member* member : epoch_->members) {
    if (IsAccountedFor(member)) continue;
    awaited.push_back(*member->rank);
    if (named.size() < kMaxDescribed) named.push_back(member->who());
  }
  return absl::StrCat("the coordinator was restarted and waits for ", awaited.size(), " of ",
                      epoch_->members.size(), " members to attach again",
                      awaited.empty() ? "" : absl::StrCat(": ", Ranks(awaited), "; "),
                      absl::StrJoin(named, ", "));
}

absl::Status Coordinator::Impl::PutOffTimeout(const Waiter& waiter) const {
  return absl::DeadlineExceededError(
      absl::StrCat("waited ", HowLong(waiter.timeout), "; ", AwaitedWords()));
}

}  // namespace muster::core
