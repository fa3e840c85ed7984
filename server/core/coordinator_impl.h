#ifndef MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
#define MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/activity.h"
#include "server/core/byte_budget.h"
#include "server/core/collective_group.h"
#include "server/core/coordinator.h"
#include "server/core/deadlines.h"
#include "server/core/formation.h"
#include "server/core/lease_table.h"
#include "server/core/placement.h"
#include "server/core/stall_clock.h"

namespace muster::core {

// A call of an attached member.
using MemberCall =
    std::variant<JoinRequest, CollectiveRequest, AcquireLeaseRequest, CompleteLeaseRequest,
                 AbandonLeaseRequest, LeaveRequest, RejoinRequest, StopRequest>;

// One process that has attached, or that a claim has named. Members of the epoch are kept, lost and
// left ones too, until the epoch is over; others only while they are there.
struct Member {
  MemberIdentity identity;
  uint64_t arrival = 0;  // order in which they became known

  // The session, and its stream while that is open.
  SessionId session;
  uint64_t attach_attempt = 0;
  WaiterId stream = 0;
  bool attached() const { return stream != 0; }
  // Named by a claim only: this daemon has not heard of it.
  bool awaited() const { return session.counter == 0; }

  // Joining.
  std::optional<PlaceWish> wish;  // while it waits, in Join or Rejoin, for an epoch to form
  // Of a member of the epoch before the one that forms: it is there for that; it may be yet.
  bool comes() const { return wish.has_value() && attached(); }
  bool may_come() const { return !comes() && !gone(); }
  WaiterId join_waiter = 0;
  uint64_t join_attempt = 0;

  // In the epoch.
  std::optional<uint32_t> rank;
  bool leaving = false;
  WaiterId leave_waiter = 0;
  bool left = false;
  std::optional<Failure> lost;
  std::optional<ExitReport> exit;  // it ended well before it attached to this daemon
  bool gone() const { return left || lost.has_value(); }
  // Contributions that its current session was asked for.
  std::set<std::pair<const CollectiveGroup*, uint64_t>> asked;

  // For messages and status.
  std::string last_collective;
  Activity activity;
  std::optional<Time> stopped_since;  // its launcher says so
  Time last_call;
  std::set<WaiterId> parked;

  std::string who() const;
};

// A parked call.
struct Waiter {
  enum class Call { kJoin, kRejoin, kCollective, kLease, kLeave, kPutOff };

  Waiter() = default;
  Waiter(Member* m, Call c) : member(m), call(c) {}

  Member* member = nullptr;
  Call call = Call::kJoin;
  Time since;
  absl::Duration timeout;
  CollectiveGroup* group = nullptr;           // of a kCollective
  uint64_t sequence = 0;                      // of a kCollective
  LeaseKey lease;                             // of a kLease
  std::shared_ptr<const MemberCall> put_off;  // of a kPutOff: what to do after the recovery
};

// One formed membership and its groups.
struct Epoch {
  EpochId id;
  std::shared_ptr<const Roster> roster;
  bool recovered = false;        // known from claims: formed by an earlier daemon
  std::vector<Member*> members;  // by rank
  size_t leavers = 0;            // members that have called Leave
  std::map<GroupName, std::unique_ptr<CollectiveGroup>> groups;
  absl::Status broken;  // once a member is lost: what every call of the epoch ends with
};

// Payload bytes of a call that is put off.
uint64_t HeldBytes(const MemberCall& call);

// The state behind Coordinator. Its functions stand in files by topic: sessions.cc (attach,
// detach), losses.cc, claims.cc (what members say of themselves), recovery.cc (a restarted daemon),
// joining.cc, forming.cc, elastic.cc, stopping.cc, stall.cc, collectives.cc, leases.cc, leaving.cc,
// status.cc; coordinator.cc has the frame.
class Coordinator::Impl {
 public:
  explicit Impl(Options options);

  absl::Status Attach(WaiterId stream, const AttachRequest& request);
  void StreamClosed(WaiterId stream);
  // Any call of a member: serves it, or puts it off until the recovery is over.
  template <class Request>
  absl::Status Receive(WaiterId waiter, const Request& request) {
    absl::StatusOr<Member*> caller = Caller(request.call);
    if (!caller.ok()) return caller.status();
    if (recovering()) return PutOff(waiter, *caller, request);
    return Serve(waiter, *caller, request);
  }
  absl::Status ReportExit(WaiterId waiter, const ExitReport& report);
  absl::Status ReportProcessState(WaiterId waiter, const ProcessStateReport& report);
  void Cancel(WaiterId waiter);
  void Tick();
  Time NextDeadline() const;
  void Drain(std::string reason);
  absl::Status CheckJob(absl::string_view job_id) const;
  JobStatus GetStatus(Time now) const;

  // Starts a step; Take() ends it.
  void Begin(Time now) { now_ = now; }
  Effects Take() { return std::exchange(effects_, {}); }
  void Refuse(WaiterId waiter, const absl::Status& status);
  void RefuseStream(WaiterId stream, const absl::Status& status);

  std::optional<absl::Status> Outcome() const;
  bool Quiet() const { return streams_.empty(); }
  const Options& options() const { return options_; }

 private:
  using Loss = std::pair<Member*, std::string>;  // who, and the cause
  // A place that a newcomer asks for and another member has.
  struct Conflict {
    Member* holder = nullptr;
    std::string place;  // in words
  };

  // ---- Calls of members; an error refuses the call, which has changed nothing then ----
  absl::Status Serve(WaiterId waiter, Member* member, const JoinRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const CollectiveRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const AcquireLeaseRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const CompleteLeaseRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const AbandonLeaseRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const LeaveRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const RejoinRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const StopRequest& request);

  // ---- coordinator.cc: calls and waiters ----
  absl::StatusOr<Member*> Caller(const CallContext& call);
  absl::Status CheckEpoch(const Member& member, const EpochId& epoch) const;
  absl::Status CheckStays(const Member& member) const;
  absl::Status CheckCallContext(const CallContext& call) const;
  // What a call of a process that this daemon does not (or no longer) know is told.
  absl::Status UnknownSession(const SessionId& session) const;
  absl::Status CanPark() const;
  // `what` is said of the member while it waits; empty where it waits for nothing of its own.
  void Park(WaiterId id, Waiter waiter, const CallContext& call, std::string what);
  // Ends a parked call; ids that are not parked are ignored.
  void Finish(WaiterId id, const absl::Status& status, Answer answer = {});
  // Answers a call that was never parked.
  void Respond(WaiterId id, Answer answer = {});
  // The parked call goes without an answer, or is about to be answered: takes it out of where it
  // waits.
  void Withdraw(WaiterId id);
  std::optional<Waiter> Unpark(WaiterId id);
  void FinishAllOf(Member* member, const absl::Status& status);
  // The same, but for calls that are put off: those are judged when they are served.
  void FinishServedOf(Member* member, const absl::Status& status);
  void TimeOut(WaiterId id);
  void Log(Severity severity, std::string text);
  std::string Say(absl::string_view text) const;  // with the job's name before it
  absl::Status Say(const absl::Status& status) const;

  // ---- sessions.cc ----
  absl::Status CheckIdentity(const MemberIdentity& member) const;
  absl::Status CheckAttach(const AttachRequest& request) const;
  absl::StatusOr<Member*> Admit(const AttachRequest& request);
  Member* AddMember(const MemberIdentity& identity);
  void StartSession(Member* member, WaiterId stream, const AttachRequest& request);
  void EndSession(Member* member);
  void EndStream(Member* member, const absl::Status& status);
  void Remove(Member* member);
  template <class Event>
  void Send(const Member* member, Event event, bool urgent = false) {
    if (member->attached()) effects_.events.push_back({member->stream, std::move(event), urgent});
  }

  // ---- losses.cc ----
  void ExpireGraces();
  absl::Status CheckReport(const std::string& job_id, const Incarnation& incarnation) const;
  std::string ExitCause(const ExitReport& report) const;
  void NoteExit(Member* member, const ExitReport& report);
  void Lose(const std::vector<Loss>& losses);
  void RecordLoss(Member* member, const std::string& cause);
  void Break(const std::vector<Member*>& lost);
  void BreakEpoch(const std::string& reason);
  void SendBroken(Member* member, bool urgent);

  // ---- claims.cc ----
  absl::Status CheckClaim(const MemberIdentity& claimant, const Claim& claim) const;
  absl::Status CheckClaimedEpoch(const MemberIdentity& claimant, const Claim& claim) const;
  absl::Status CheckClaimedLeases(const Claim& claim) const;
  std::vector<uint64_t> AdoptLeases(Member* member, const Claim& claim);
  void ApplyClaim(Member* member, const Claim& claim);
  void ApplyGroupClaim(Member* member, const GroupClaim& claim);
  void ApplyBrokenClaim(const BrokenClaim& claim);
  std::string Unsaid(absl::string_view text) const;  // Say() undone

  // ---- recovery.cc ----
  bool recovering() const { return recovery_ends_.has_value(); }
  absl::Status ConsiderClaimedEpoch(const MemberIdentity& claimant, const Claim& claim);
  void AdoptEpoch(const Claim& claim);
  void DropEpoch(const Roster& successor);
  absl::Status PutOff(WaiterId id, Member* member, MemberCall call);
  void PutOffCandidates();
  void TryEndRecovery();
  void EndRecovery();
  void SettleAbsent();
  void ServePutOffCalls();
  void AskForContributions(CollectiveGroup* group);
  std::string AwaitedWords() const;
  absl::Status PutOffTimeout(const Waiter& waiter) const;

  // ---- joining.cc ----
  absl::Status CheckJoin(const Member& member, const JoinRequest& request) const;
  absl::Status CheckWorldSize(const Member& member, const PlaceWish& wish) const;
  absl::Status CheckRankWishes(const Member& member, const PlaceWish& wish) const;
  uint32_t WorldSize() const;
  std::optional<Conflict> FindConflict(const Member& member, const PlaceWish& wish) const;
  absl::Status PlaceTaken(const Member& newcomer, const Conflict& conflict) const;
  void TakePlace(Member* member);
  void Contend(Member* newcomer, const Conflict& conflict);
  void StopJoining(Member* member);
  void ResolveContenders();
  void ExpireContenders();
  std::vector<uint32_t> UnaskedRanks() const;
  std::string CandidateWords() const;
  absl::Status JoinTimeout(const Waiter& waiter) const;

  // ---- forming.cc ----
  bool Forming() const;
  std::vector<Member*> ChooseMembers() const;
  FormationDecision DecideOn(const std::vector<Member*>& chosen) const;
  void TryForm();
  Roster PlacesOf(const std::vector<Member*>& chosen) const;
  void Form(const std::vector<Member*>& chosen);
  void LogFormed(const std::string& reason);
  void Retire(const Epoch& previous);
  void RefuseCandidates(const std::string& why);

  // ---- elastic.cc ----
  enum class FormationTimer { kSettle, kRejoin };
  bool elastic() const { return options_.min_world_size != 0; }
  uint32_t Places() const;
  absl::Status CheckRejoin(const Member& member, const RejoinRequest& request) const;
  bool Settled() const;
  void FormationChanged();
  void StartReforming();
  void ExpireFormation();
  void LoseSilent();
  void FailReforming();
  void AnnounceNewcomers();
  absl::Status RejoinTimeout(const Waiter& waiter) const;

  // ---- collectives.cc ----
  absl::Status CheckCollective(const CollectiveRequest& request) const;
  absl::Status CheckGroup(const GroupName& group, uint32_t caller_rank, uint32_t size) const;
  absl::Status CheckPayload(const CollectiveRequest& request, uint32_t index, uint32_t rank) const;
  absl::StatusOr<CollectiveGroup*> FindGroup(const GroupName& name);
  absl::Status CheckNobodyIsLeaving(const CollectiveGroup& group, const std::string& op) const;
  void Apply(CollectiveGroup* group, CollectiveGroup::Step step);
  void FailCollectivesOf(Member* leaver);
  absl::Status CollectiveTimeout(const Waiter& waiter) const;
  std::string DescribeMissing(const CollectiveGroup& group, uint64_t sequence) const;
  void AnnounceFinished(const CollectiveGroup& group);

  // ---- leases.cc ----
  absl::Status CheckLease(absl::string_view name) const;
  LeaseKey KeyOf(const Member& member, LeaseScope scope, const std::string& name) const;
  bool MayGrant() const;
  void Apply(const LeaseTable::Step& step);
  void GrantLeases();
  absl::Status LeaseTimeout(const Waiter& waiter) const;

  // ---- leaving.cc ----
  void StartLeaving(Member* member);
  void ReleaseForLeaving(Member* leaver);
  void TryFinishLeaving();
  void MarkLeft(Member* member);
  absl::Status LeaveTimeout(const Waiter& waiter) const;

  // ---- stopping.cc ----
  void AskStop();
  void ApplyStopClaim(const Claim& claim);

  // ---- stall.cc ----
  struct Stall {
    std::string operation;
    Time since;
    std::string why;  // and who is missing
    std::vector<MissingMember> missing;
    std::vector<const Member*> waiting;
  };
  void WatchForStalls();
  void CheckStalls();
  void Announce(const Stall& stall);
  Stall StalledCollective(const CollectiveGroup& group) const;
  Stall StalledLeave() const;
  Stall StalledForming() const;
  Stall StalledRecovery() const;
  std::vector<MissingMember> MissingMembers(const std::vector<uint32_t>& ranks) const;
  std::string DescribeMembers(const std::vector<uint32_t>& ranks) const;

  // ---- status.cc ----
  static MemberState StateOf(const Member& member);
  std::string StateWords() const;
  MemberStatus StatusOf(const Member& member, Time now) const;
  LeaseStatus StatusOf(const LeaseKey& key, const LeaseTable::Lease& lease, Time now) const;
  std::vector<PendingCollective> PendingCollectives(Time now) const;

  const Options options_;
  Time now_;
  Effects effects_;
  std::optional<std::string> draining_;

  absl::flat_hash_map<Incarnation, std::unique_ptr<Member>> members_;
  absl::flat_hash_map<uint64_t, Member*> sessions_;  // by the counter of the current session
  absl::flat_hash_map<WaiterId, Member*> streams_;   // open ones
  uint64_t last_session_ = 0;
  uint64_t arrivals_ = 0;
  Deadlines<Incarnation> graces_;
  std::deque<Failure> failures_;  // the latest first
  // Of processes that this daemon does not know: a claim may name them yet.
  absl::flat_hash_map<Incarnation, ExitReport> early_exits_;

  std::optional<Time> recovery_ends_;  // while it lasts
  std::deque<WaiterId> put_off_;       // calls to serve then, in order

  absl::flat_hash_map<WaiterId, Waiter> waiters_;
  Deadlines<WaiterId> deadlines_;

  // Members that wait for the epoch to form, by arrival; places that they ask for.
  std::map<uint64_t, Member*> candidates_;
  std::map<uint32_t, Member*> rank_places_;
  std::map<std::pair<std::string, uint32_t>, Member*> local_places_;
  Deadlines<Incarnation> contenders_;  // want a place that a live member holds
  uint32_t agreed_size_ = 0;           // by the first candidate that names one
  std::string agreed_by_;

  // Of elastic jobs.
  Deadlines<FormationTimer> formation_timers_;
  Time formation_changed_;  // when somebody last came or went
  Time rejoin_deadline_;    // while the job re-forms
  // What the epoch's members were last told of those who wait.
  struct Announced {
    EpochId epoch;
    uint32_t waiting = 0;
    uint32_t free_places = 0;
    friend bool operator==(const Announced& a, const Announced& b) {
      return a.epoch == b.epoch && a.waiting == b.waiting && a.free_places == b.free_places;
    }
  };
  Announced announced_;

  Time stall_check_ = absl::InfiniteFuture();
  StallClock forming_stall_;
  StallClock leave_stall_;
  StallClock recovery_stall_;

  bool stop_asked_ = false;  // RequestStop was called, in whatever epoch

  ByteBudget budget_;  // before the groups and leases that use it
  LeaseTable leases_;
  std::unique_ptr<Epoch> epoch_;
  uint64_t highest_epoch_ = 0;
  JobState state_ = JobState::kForming;
  std::string reason_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
