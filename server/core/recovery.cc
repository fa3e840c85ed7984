// Recovery: a restarted coordinator hears from the members what their epoch is.
//
// It begins with the first claim and ends when every member of the claimed epoch is here or
// accounted for, or with the recovery grace. Until then calls are deferred, nothing is granted and
// no epoch forms; afterwards the calls are served as if they had come then.
//
// Claims do not say who the members of their epoch are: one claimant is asked, and the claims wait
// for what it says (parked_claims.h).

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"
#include "server/core/validation.h"

namespace muster::core {
namespace {

// Awaited members that a message describes one by one; the list of all is in ranges.
constexpr size_t kMaxDescribed = 4;
// How often newcomers are told whom the recovery waits for.
constexpr absl::Duration kTellInterval = absl::Seconds(1);

std::string DescribeCall(const MemberCall& call) {
  struct Namer {
    std::string operator()(const JoinRequest&) { return "Join"; }
    std::string operator()(const RejoinRequest&) { return "Rejoin"; }
    std::string operator()(const LeaveRequest&) { return "Leave"; }
    std::string operator()(const CollectiveRequest& c) {
      return DescribeStep(DescribeOperation(c), c.sequence, c.group);
    }
    std::string operator()(const WithdrawRequest& w) {
      return absl::StrCat("WithdrawArrival op ", w.sequence, " of ", DescribeGroup(w.group));
    }
    std::string operator()(const ReleaseRequest&) { return "ReleaseGroups"; }
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
    return HeldBytes(complete->result);
  }
  if (const auto* release = std::get_if<ReleaseRequest>(&call)) {
    return release->released.size() * sizeof(ReleaseRequest::Released) +
           release->closed.size() * sizeof(std::string);
  }
  return 0;
}

// The highest claimed epoch wins while the recovery lasts, and the first claim begins one.
bool Coordinator::Impl::MayWin(const EpochId& claimed) const {
  return life_.recovering() && (!epoch() || IsHigher(claimed, epoch()->id()));
}

bool Coordinator::Impl::MustHearRoster(const AttachRequest& request) const {
  if (!request.claim || !request.claim->epoch || request.claim->roster) return false;
  return MayWin(*request.claim->epoch) || (!life_.recovering() && !epoch());
}

absl::Status Coordinator::Impl::ParkClaim(WaiterId stream, const AttachRequest& request) {
  if (absl::Status s = CheckRoomForMember(); !s.ok()) return s;
  // Not final: there will be room when the roster is known.
  if (absl::Status s = job_.budget.Reserve(HeldBytes(*request.claim)); !s.ok()) {
    return absl::UnavailableError(s.message());
  }
  claims_.Park(job_.now, stream, request);
  if (!life_.recovering()) BeginRecovery(request.member, *request.claim);
  return absl::OkStatus();
}

bool Coordinator::Impl::TakeParkedClaim(WaiterId stream) {
  const std::optional<ParkedClaims::Entry> taken = claims_.Take(job_.now, stream);
  if (taken) job_.budget.Release(HeldBytes(*taken->request.claim));
  return taken.has_value();
}

void Coordinator::Impl::EndParkedClaim(WaiterId stream, const absl::Status& status) {
  TakeParkedClaim(stream);
  job_.out.EndStream(stream, status);
}

void Coordinator::Impl::BeginRecovery(const MemberIdentity& claimant, const Claim& claim) {
  life_.BeginRecovery();
  recovery_ends_ = job_.now + job_.options.recovery_grace;
  may_tell_ = job_.now;
  untold_.clear();
  recovery_stall_.Restart(job_.now);
  stalls_.Begin();
  job_.Log(Severity::kInfo,
           absl::StrCat("recovering epoch ", claim.epoch->number, ", first claimed by ",
                        Who(claim.rank, claimant, members_.node_names())));
  DeferCandidates();
}

// Nobody has said who the members of the claimed epoch are: it is over, and another one may form.
void Coordinator::Impl::GiveRecoveryUp() {
  job_.Log(
      Severity::kWarning,
      absl::StrCat("nobody has named the members of the claimed epoch within ",
                   absl::FormatDuration(job_.options.recovery_grace), "; its claims do not count"));
  life_.EndRecovery();
  joining_.NoteChange();
}

// A claim of another epoch than the one that wins is refused, unless the claimant has a place in
// the winner: the answer that told it so was lost.
absl::Status Coordinator::Impl::ConsiderClaimedEpoch(const MemberIdentity& claimant,
                                                     const Claim& claim) {
  if (!epoch() && !claim.roster) {
    return absl::AbortedError(absl::StrCat(
        "epoch ", claim.epoch->number, " is over: nobody has told the restarted coordinator who ",
        "its members are; start the process again"));
  }
  if (!epoch()) {
    if (!life_.recovering()) BeginRecovery(claimant, claim);
    AdoptEpoch(claim);
  } else if (claim.roster && MayWin(*claim.epoch)) {
    job_.Log(Severity::kWarning,
             absl::StrCat("epoch ", epoch()->id().number, " is superseded by epoch ",
                          claim.epoch->number, ", claimed by ",
                          Who(claim.rank, claimant, members_.node_names())));
    DropEpoch(*claim.roster, absl::AbortedError(absl::StrCat(
                                 "epoch ", epoch()->id().number,
                                 " is over: a later one was formed without this process; start it "
                                 "again")));
    AdoptEpoch(claim);
  }
  const Member* member = members_.Find(claimant.incarnation);
  if (member != nullptr && member->rank()) {
    const bool same = *claim.epoch == epoch()->id();
    if (!same) return absl::OkStatus();
    if (*member->rank() == claim.rank) {
      return CheckClaimedGroups(claim, epoch()->size(), job_.options.limits);
    }
    return absl::InvalidArgumentError(absl::StrCat("the claim names rank ", claim.rank,
                                                   " of epoch ", claim.epoch->number, "; it is ",
                                                   member->who()));
  }
  return absl::AbortedError(absl::StrCat(
      "epoch ", claim.epoch->number, " is over: this job is in epoch ", epoch()->id().number,
      ", which was formed without this process; start it again"));
}

void Coordinator::Impl::AdoptEpoch(const Claim& claim) {
  epoch_claimed_ = job_.now;
  life_.ObserveEpochNumber(claim.epoch->number);
  giving_up_.Cancel();
  std::vector<Member*> members;
  for (const RosterEntry& entry : *claim.roster) {
    Member* member = members_.Find(entry.member.incarnation);
    if (member == nullptr) member = members_.Add(entry.member, job_.now);
    members_.SetRank(member, static_cast<uint32_t>(members.size()));
    member->activity.Recovered(job_.now);
    members.push_back(member);
  }
  life_.Enter(std::make_unique<Epoch>(*claim.epoch, claim.roster, std::move(members),
                                      /*recovered=*/true, job_.options.limits, &job_.budget,
                                      &job_.tally));
  // Whoever claims it may be known to have ended, and then says nothing more.
  ObserveNumbers(claim);
  life_.AdoptHistory(claim.history);
  job_.Log(Severity::kInfo, absl::StrCat("epoch ", claim.epoch->number, " has ", epoch()->size(),
                                         " members; waiting for them to attach again"));
  for (Member* member : epoch()->members()) {
    auto early = early_exits_.extract(member->incarnation());
    if (!early.empty()) NoteExit(member, early.mapped());
  }
}

// Members that the successor does not have are turned away; the others are its members, and what
// they have claimed of the dropped epoch is forgotten.
void Coordinator::Impl::DropEpoch(const Roster& successor, const absl::Status& over) {
  const std::unique_ptr<Epoch> dropped = life_.DropEpoch();
  absl::flat_hash_set<absl::string_view> kept;
  for (const RosterEntry& entry : successor) kept.insert(entry.member.incarnation);
  for (Member* member : dropped->members()) {
    members_.LeaveEpoch(member);
    if (kept.contains(member->incarnation())) continue;
    FinishAllOf(member, over);
    if (member->attached()) EndStream(member, over);
    Remove(member);
  }
}

absl::Status Coordinator::Impl::Defer(WaiterId id, Member* member, MemberCall call) {
  const CallContext context = std::visit([](const auto& c) { return c.call; }, call);
  // Not final: there will be room when the recovery is over.
  if (absl::Status s = calls_.CanPark(*member); !s.ok()) return absl::UnavailableError(s.message());
  if (absl::Status s = job_.budget.Reserve(HeldBytes(call)); !s.ok()) {
    return absl::UnavailableError(s.message());
  }
  std::string what = DescribeCall(call);
  calls_.Park(id, member, ForRecovery{std::make_shared<const MemberCall>(std::move(call))}, context,
              Calls::Say(std::move(what)));
  deferred_.push_back(id);
  if (!member->rank()) untold_.push_back(id);
  return absl::OkStatus();
}

const Member* Coordinator::Impl::NewcomerBehind(WaiterId id) const {
  const ParkedCall* call = calls_.parked().Find(id);
  if (call == nullptr || !std::holds_alternative<ForRecovery>(call->wait)) return nullptr;
  return call->member->rank() ? nullptr : call->member;
}

// The event names every awaited member, and there may be as many newcomers as members. So the
// newcomers of one second share one event; the first one is told at once.
void Coordinator::Impl::TellNewcomersOfRecovery() {
  if (!life_.recovering() || untold_.empty() || job_.now < may_tell_) return;
  absl::flat_hash_set<const Member*> told;
  std::vector<const Member*> newcomers;
  for (WaiterId id : std::exchange(untold_, {})) {
    const Member* newcomer = NewcomerBehind(id);
    if (newcomer != nullptr && told.insert(newcomer).second) newcomers.push_back(newcomer);
  }
  if (newcomers.empty()) return;
  may_tell_ = job_.now + kTellInterval;
  Stall stall = StalledRecovery();
  StillWaiting event;
  event.operation = stall.operation;
  event.text = DescribeAwaited();
  event.missing = std::make_shared<const std::vector<MissingMember>>(std::move(stall.missing));
  const SharedEvent shared = job_.out.Share(std::move(event));
  for (const Member* newcomer : newcomers) job_.Send(*newcomer, shared);
}

// How many processes that are not of the claimed epoch fill a whole world, as the flags or they
// themselves say how large it is; 0 if they do not.
uint32_t Coordinator::Impl::NewcomersWorldSize() const {
  absl::flat_hash_set<const Member*> newcomers;
  uint32_t world =
      job_.options.max_world_size != 0 ? job_.options.max_world_size : job_.options.world_size;
  for (WaiterId id : deferred_) {
    const ParkedCall* parked = calls_.parked().Find(id);
    if (parked == nullptr || parked->member->rank() || !parked->member->attached()) continue;
    const auto* join = std::get_if<JoinRequest>(std::get<ForRecovery>(parked->wait).call.get());
    if (join == nullptr) continue;
    newcomers.insert(parked->member);
    world = std::max(world, join->world_size);
  }
  return world != 0 && newcomers.size() >= world ? world : 0;
}

// Joins that came before the first claim: their callers may have a place already.
void Coordinator::Impl::DeferCandidates() {
  while (!joining_.places().empty()) {
    const auto& [candidate_id, candidate] = *joining_.places().candidates().begin();
    const PlaceWish wish = candidate.wish;
    Member* member = joining_.CandidateOf(candidate_id);
    const WaiterId id = calls_.parked().JoinOf(*member);
    joining_.StopSeeking(member);
    const std::optional<ParkedCall> parked = calls_.Reopen(id);
    const CallContext call{job_.options.job_id, member->session(), member->join_attempt,
                           parked->timeout, parked->since};
    JoinRequest request{call,           wish.world_size, wish.rank,          wish.local_rank,
                        wish.node_rank, wish.topology,   member->fingerprint};
    if (absl::Status s = Defer(id, member, std::move(request)); !s.ok()) calls_.Finish(id, s);
  }
}

void Coordinator::Impl::EndRecovery() {
  life_.EndRecovery();
  early_exits_.clear();
  giving_up_.Clear();
  const auto& members = epoch()->members();
  const auto here = [](const Member* m) { return m->attached(); };
  job_.Log(Severity::kInfo, absl::StrCat("epoch ", epoch()->id().number, " is recovered: ",
                                         std::count_if(members.begin(), members.end(), here),
                                         " of ", members.size(), " members are here"));
  if (epoch()->broken()) {
    for (Member* member : members) {
      if (member->leaving() && !member->gone()) MarkLeft(member);
    }
  }
  LoseAbsent();
  releases_.ResolveClaims();
  forming_.StartReforming();
}

Coordinator::Impl::Loss Coordinator::Impl::NotRecovered(Member* member) const {
  return {member, LossCause::kNotRecovered,
          absl::StrCat("it did not attach to the restarted coordinator within ",
                       absl::FormatDuration(job_.options.recovery_grace))};
}

// Who has not come back is lost. But Leave is answered when all are leaving: where everybody who is
// here only leaves, the others may have had their answer and ended.
void Coordinator::Impl::LoseAbsent() {
  std::vector<Loss> absent;
  bool any_here = false;
  bool all_leave = true;
  for (Member* member : epoch()->members()) {
    any_here |= member->attached();
    if (member->attached() || member->gone()) {
      all_leave &= member->leaving() || member->gone();
      continue;
    }
    absent.push_back(member->exit() ? Ended(member, *member->exit()) : NotRecovered(member));
  }
  if (life_.state() == JobState::kFailed || (any_here && all_leave)) {
    for (const Loss& loss : absent) MarkLeft(loss.member);
  } else {
    Lose(absent);
  }
}

std::string Coordinator::Impl::DescribeAwaitedRoster() const {
  const ParkedClaims::Entry* claimant = claims_.Highest();
  if (claimant == nullptr) {
    return "the coordinator was restarted and waits for the members of its epoch to attach again";
  }
  const Claim& claim = *claimant->request.claim;
  return absl::StrCat("the coordinator was restarted and asks who the members of epoch ",
                      claim.epoch->number, " are, which ", claims_.size(),
                      claims_.size() == 1 ? " process claims, " : " processes claim, first ",
                      Who(claim.rank, claimant->request.member, members_.node_names()));
}

std::string Coordinator::Impl::DescribeAwaited() const {
  if (!epoch()) return DescribeAwaitedRoster();
  std::vector<uint32_t> awaited;
  std::vector<std::string> named;
  for (const Member* member : epoch()->members()) {
    if (member->accounted_for()) continue;
    awaited.push_back(*member->rank());
    if (named.size() < kMaxDescribed) named.push_back(member->who());
  }
  return absl::StrCat("the coordinator was restarted and waits for ", awaited.size(), " of ",
                      epoch()->size(), " members to attach again", awaited.empty() ? "" : ": ",
                      awaited.size() > 1 ? absl::StrCat(Ranks(awaited), "; ") : "",
                      absl::StrJoin(named, ", "));
}

}  // namespace muster::core
