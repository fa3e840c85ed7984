// Recovery: a restarted coordinator learns from the members what their epoch is.

#include "server/core/recovery/recovery.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"
#include "server/core/api/rpc_name.h"
#include "server/core/api/validation.h"
#include "server/core/job/member_state.h"

namespace muster::core {
namespace {

// The most awaited members that a message describes one by one. It lists all of them as ranges.
constexpr size_t kMaxDescribed = 4;
// How often newcomers are told whom the recovery waits for.
constexpr absl::Duration kNoticeInterval = absl::Seconds(1);
// How long members of a running epoch may take to come back before an epoch of new processes may
// replace theirs.
constexpr absl::Duration kOldRunCheck = absl::Seconds(5);

// A visitor that describes a deferred call, by the name of its rpc unless there is more to say.
struct CallDescriber {
  std::string operator()(const CollectiveRequest& c) {
    return DescribeStep(DescribeOperation(c), c.sequence, c.group);
  }
  std::string operator()(const WithdrawRequest& w) {
    return absl::StrCat("WithdrawArrival op ", w.sequence, " of ", DescribeGroup(w.group));
  }
  std::string operator()(const AcquireLeaseRequest& a) { return Lease("Acquire", a.name); }
  std::string operator()(const CompleteLeaseRequest& c) { return Lease("Complete", c.name); }
  std::string operator()(const AbandonLeaseRequest& a) { return Lease("Abandon", a.name); }
  template <typename Request>
  std::string operator()(const Request&) {
    return std::string(RpcNameOf<Request>());
  }
  static std::string Lease(absl::string_view verb, const std::string& name) {
    return absl::StrCat(verb, "Lease('", name, "')");
  }
};

std::string DescribeCall(const MemberCall& call) { return std::visit(CallDescriber(), call); }

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
  if (const auto* report = std::get_if<CommitReport>(&call)) {
    uint64_t bytes = 0;
    for (const CommitReport::Group& group : report->groups) {
      for (const CommitReport::Commit& commit : group.commits) {
        bytes += sizeof commit + commit.delays.size() * sizeof(absl::Duration);
      }
    }
    return bytes;
  }
  return 0;
}

Recovery::Recovery(JobContext& job, Lifecycle& life, MemberTable& members, Calls& calls,
                   StallWatch& stalls, GroupReleases& releases, Leases& leases, Joining& joining,
                   Forming& forming, GiveUpPolicy& give_up_policy, Membership& membership)
    : job_(job),
      life_(life),
      members_(members),
      calls_(calls),
      stalls_(stalls),
      releases_(releases),
      leases_(leases),
      joining_(joining),
      forming_(forming),
      give_up_policy_(give_up_policy),
      membership_(membership) {}

void Recovery::Begin(const MemberIdentity& claimant, const Claim& claim) {
  life_.BeginRecovery();
  ends_ = job_.now + job_.options.recovery_grace;
  next_notice_ = job_.now;
  unnotified_.clear();
  stall_.Restart(job_.now);
  stalls_.Begin();
  job_.Log(Severity::kInfo,
           absl::StrCat("recovering epoch ", claim.epoch->number, ", first claimed by ",
                        DescribeMember(claim.rank, claimant, members_.node_names())));
  DeferCandidates();
}

// Ends the recovery without an epoch: no claimant has named the members, so the claimed epoch is
// over and another one may form.
void Recovery::GiveUp() {
  job_.Log(Severity::kWarning,
           absl::StrCat("no process has sent the list of members of the claimed epoch within ",
                        absl::FormatDuration(job_.options.recovery_grace),
                        "; claims of that epoch are ignored"));
  life_.EndRecovery();
  joining_.NoteChange();
}

void Recovery::AdoptEpoch(const Claim& claim) {
  epoch_claimed_ = job_.now;
  life_.ObserveEpochNumber(claim.epoch->number);
  give_up_policy_.Cancel();
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
  // The claimant may be known to have ended. Then nothing more comes from it, so this must use its
  // claim now.
  membership_.ObserveNumbers(claim);
  life_.AdoptHistory(claim.history);
  job_.Log(Severity::kInfo, absl::StrCat("epoch ", claim.epoch->number, " has ", epoch()->size(),
                                         " members; waiting for them to attach again"));
  membership_.ApplyEarlyExits();
}

// Forgets an epoch. Members that the successor does not have are turned away. The other members
// stay, but what they have claimed of the dropped epoch is forgotten.
void Recovery::DropEpoch(const Roster& successor, const absl::Status& over) {
  const std::unique_ptr<Epoch> dropped = life_.DropEpoch();
  absl::flat_hash_set<absl::string_view> kept;
  for (const RosterEntry& entry : successor) kept.insert(entry.member.incarnation);
  for (Member* member : dropped->members()) {
    members_.LeaveEpoch(member);
    if (kept.contains(member->incarnation())) continue;
    membership_.Dismiss(member, over);
  }
}

absl::Status Recovery::Defer(WaiterId id, Member* member, MemberCall call) {
  const CallContext context = std::visit([](const auto& c) { return c.call; }, call);
  // UNAVAILABLE, because there will be room when the recovery is over.
  if (absl::Status s = calls_.CanPark(*member); !s.ok()) return absl::UnavailableError(s.message());
  if (absl::Status s = job_.budget.Reserve(HeldBytes(call)); !s.ok()) {
    return absl::UnavailableError(s.message());
  }
  std::string what = DescribeCall(call);
  calls_.Park(id, member, WaitForRecovery{std::make_shared<const MemberCall>(std::move(call))},
              context, Calls::MakeDescription(std::move(what)));
  deferred_.push_back(id);
  if (!member->rank()) unnotified_.push_back(id);
  return absl::OkStatus();
}

const Member* Recovery::NewcomerOf(WaiterId id) const {
  const ParkedCall* call = calls_.parked().Find(id);
  if (call == nullptr || !std::holds_alternative<WaitForRecovery>(call->wait)) return nullptr;
  return call->member->rank() ? nullptr : call->member;
}

// Sends one event to all newcomers of a second, because the event names every awaited member, and
// there may be as many newcomers as members. The first newcomer is told at once.
void Recovery::NotifyNewcomers() {
  if (!life_.recovering() || unnotified_.empty() || job_.now < next_notice_) return;
  absl::flat_hash_set<const Member*> notified;
  std::vector<const Member*> newcomers;
  for (WaiterId id : std::exchange(unnotified_, {})) {
    const Member* newcomer = NewcomerOf(id);
    if (newcomer != nullptr && notified.insert(newcomer).second) newcomers.push_back(newcomer);
  }
  if (newcomers.empty()) return;
  next_notice_ = job_.now + kNoticeInterval;
  StillWaiting event;
  event.operation = "the recovery";
  event.text = DescribeAwaited();
  event.missing = std::make_shared<const std::vector<MissingMember>>(
      epoch() ? MissingMembers(*epoch(), AbsentRanks(), job_.now) : std::vector<MissingMember>());
  const SharedEvent shared = job_.out.Share(std::move(event));
  for (const Member* newcomer : newcomers) job_.Send(*newcomer, shared);
}

// Returns the world size if processes outside the claimed epoch fill a whole world. The flags or
// these processes say how large it is. Returns 0 if they do not fill it.
uint32_t Recovery::NewcomersWorldSize() const {
  absl::flat_hash_set<const Member*> newcomers;
  uint32_t world =
      job_.options.max_world_size != 0 ? job_.options.max_world_size : job_.options.world_size;
  for (WaiterId id : deferred_) {
    const ParkedCall* parked = calls_.parked().Find(id);
    if (parked == nullptr || parked->member->rank() || !parked->member->attached()) continue;
    const auto* join = std::get_if<JoinRequest>(std::get<WaitForRecovery>(parked->wait).call.get());
    if (join == nullptr) continue;
    newcomers.insert(parked->member);
    world = std::max(world, join->world_size);
  }
  return world != 0 && newcomers.size() >= world ? world : 0;
}

// Defers Joins that came before the first claim, because their callers may have a place already.
void Recovery::DeferCandidates() {
  while (!joining_.places().empty()) {
    const auto& [candidate_id, candidate] = *joining_.places().candidates().begin();
    const PlacementConstraints constraints = candidate.constraints;
    Member* member = joining_.CandidateOf(candidate_id);
    const WaiterId id = calls_.parked().JoinOf(*member);
    joining_.StopSeeking(member);
    const std::optional<ParkedCall> parked = calls_.Reopen(id);
    const CallContext call{job_.options.job_id, member->session(), member->join_attempt,
                           parked->timeout, parked->since};
    JoinRequest request{call,
                        constraints.world_size,
                        constraints.rank,
                        constraints.local_rank,
                        constraints.node_rank,
                        constraints.topology,
                        member->fingerprint};
    if (absl::Status s = Defer(id, member, std::move(request)); !s.ok()) calls_.Finish(id, s);
  }
}

void Recovery::End() {
  life_.EndRecovery();
  membership_.ForgetEarlyExits();
  give_up_policy_.Clear();
  const auto& members = epoch()->members();
  const auto here = [](const Member* m) { return m->attached(); };
  job_.Log(Severity::kInfo, absl::StrCat("epoch ", epoch()->id().number, " is recovered: ",
                                         std::count_if(members.begin(), members.end(), here),
                                         " of ", members.size(), " members are here"));
  if (epoch()->broken()) {
    for (Member* member : members) {
      if (member->leaving() && !member->gone()) membership_.MarkLeft(member);
    }
  }
  LoseAbsent();
  releases_.ResolveClaims();
  forming_.StartReforming();
}

Membership::Loss Recovery::NotRecovered(Member* member) const {
  return {member, LossCause::kNotRecovered,
          absl::StrCat("it did not attach to the restarted coordinator within ",
                       absl::FormatDuration(job_.options.recovery_grace))};
}

// Loses the members that have not come back, with one exception. Leave is answered when all are
// leaving. So if all members that are here are leaving, the others may have had their answer and
// ended.
void Recovery::LoseAbsent() {
  std::vector<Membership::Loss> absent;
  bool any_here = false;
  bool all_leave = true;
  for (Member* member : epoch()->members()) {
    any_here |= member->attached();
    if (member->attached() || member->gone()) {
      all_leave &= member->leaving() || member->gone();
      continue;
    }
    absent.push_back(member->exit() ? membership_.Ended(member, *member->exit())
                                    : NotRecovered(member));
  }
  if (life_.state() == JobState::kFailed || (any_here && all_leave)) {
    for (const Membership::Loss& loss : absent) membership_.MarkLeft(loss.member);
  } else {
    membership_.Lose(absent);
  }
}

std::string Recovery::DescribeAwaitedRoster() const {
  const ParkedClaims::Entry* claimant = claims_.Highest();
  if (claimant == nullptr) {
    return "the coordinator was restarted and waits for the members of its epoch to attach again";
  }
  const Claim& claim = *claimant->request.claim;
  return absl::StrCat("the coordinator was restarted and asks for the list of members of epoch ",
                      claim.epoch->number, " are, which ", claims_.size(),
                      claims_.size() == 1 ? " process claims, " : " processes claim, first ",
                      DescribeMember(claim.rank, claimant->request.member, members_.node_names()));
}

std::string Recovery::DescribeAwaited() const {
  if (!epoch()) return DescribeAwaitedRoster();
  std::vector<uint32_t> awaited;
  std::vector<std::string> named;
  for (const Member* member : epoch()->members()) {
    if (member->accounted_for()) continue;
    awaited.push_back(*member->rank());
    if (named.size() < kMaxDescribed) named.push_back(member->Describe());
  }
  return absl::StrCat("the coordinator was restarted and waits for ", awaited.size(), " of ",
                      epoch()->size(), " members to attach again", awaited.empty() ? "" : ": ",
                      awaited.size() > 1 ? absl::StrCat(Ranks(awaited), "; ") : "",
                      absl::StrJoin(named, ", "));
}

// Drops the claimed epoch if it is of an earlier run with the same address and job id. Members of a
// running epoch are back within a second or two. If most of them are not, and new processes fill a
// whole world, the claimants are left over from such a run. Nothing that they said holds for the
// new run.
bool Recovery::TryDropOldRun() {
  if (!life_.recovering() || !epoch() || job_.now < epoch_claimed_ + kOldRunCheck) return false;
  const uint32_t came = static_cast<uint32_t>(members_.counts().attached);
  if (2 * came > epoch()->size()) return false;
  const uint32_t newcomers = NewcomersWorldSize();
  if (newcomers == 0) return false;
  const absl::Status over = absl::AbortedError(absl::StrCat(
      "epoch ", epoch()->id().number,
      " is over: it belongs to an earlier run of this job, of which ", came, " of ",
      epoch()->size(), " members have come back in ", DescribeDuration(job_.now - epoch_claimed_),
      ", while ", newcomers,
      " new processes fill a whole world; end what is left of the earlier run, and give each run a "
      "name of its own (MUSTER_JOB)"));
  job_.Log(Severity::kWarning, std::string(over.message()));
  life_.EndRecovery();
  DropEpoch({}, over);
  life_.StartAnew();
  leases_.Clear();
  return true;
}

bool Recovery::TryEnd() {
  if (!life_.recovering()) return false;
  const bool all_heard = epoch() && members_.counts().unaccounted == 0 && claims_.empty();
  if (!all_heard && ends_ > job_.now) return false;
  epoch() ? End() : GiveUp();
  return true;
}

// Ignores a check that has passed: it was done in the step that set `now`.
Time Recovery::NextStep() const {
  if (!life_.recovering()) return absl::InfiniteFuture();
  Time next = std::min(ends_, claims_.next_question());
  if (!unnotified_.empty()) next = std::min(next, next_notice_);
  const Time check = epoch_claimed_ + kOldRunCheck;
  return epoch() && check > job_.now ? std::min(check, next) : next;
}

void Recovery::NoteAttached() {
  if (!life_.recovering()) return;
  stall_.Restart(job_.now);
  stalls_.Begin();
}

std::optional<WaiterId> Recovery::PopDeferred() {
  if (life_.recovering() || deferred_.empty()) return std::nullopt;
  const WaiterId id = deferred_.front();
  deferred_.pop_front();
  return id;
}

absl::Status Recovery::DescribeTimeout(const ParkedCall& call, const WaitForRecovery&) const {
  return absl::DeadlineExceededError(
      absl::StrCat("waited ", DescribeDuration(call.timeout), "; ", DescribeAwaited()));
}

std::vector<uint32_t> Recovery::AbsentRanks() const {
  std::vector<uint32_t> absent;
  if (epoch() == nullptr) return absent;
  for (const Member* member : epoch()->members()) {
    if (!member->attached() && !member->gone()) absent.push_back(*member->rank());
  }
  return absent;
}

}  // namespace muster::core
