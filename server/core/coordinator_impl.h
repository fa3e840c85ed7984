#ifndef MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
#define MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/calls.h"
#include "server/core/checkpoint.h"
#include "server/core/collectives.h"
#include "server/core/coordinator.h"
#include "server/core/epoch.h"
#include "server/core/forming.h"
#include "server/core/giving_up.h"
#include "server/core/group_releases.h"
#include "server/core/groups.h"
#include "server/core/job_context.h"
#include "server/core/joining.h"
#include "server/core/leases.h"
#include "server/core/lifecycle.h"
#include "server/core/member_table.h"
#include "server/core/newcomer_news.h"
#include "server/core/parked_claims.h"
#include "server/core/stall_clock.h"
#include "server/core/stall_watch.h"
#include "server/core/standing.h"

namespace muster::core {

// The state behind Coordinator. A step is Begin, one Take, End. Handlers change state and do
// nothing that another part of the state may have become ready for; End() does that: it advances
// the job until nothing more has become due (advancing.cc). So no handler is entered from within
// another one.
//
// Its functions stand in files by topic: sessions.cc (attach, detach), losses.cc, claims.cc (what
// members say of themselves), group_releases.cc, giving_up.cc, recovery.cc (a restarted daemon),
// joining.cc, forming.cc, elastic.cc, stopping.cc, stall.cc, collectives.cc, node_collectives.cc,
// leases.cc, leaving.cc, status.cc, checkpoint.cc; calls.cc has what all calls share.
class Coordinator::Impl {
 public:
  explicit Impl(Options options);

  void Begin(Time now) { job_.now = now; }
  // What the step is about, by its kind.
  void Take(WaiterId stream, const AttachRequest& request);
  void Take(WaiterId stream, const StreamClosed& closed);
  void Take(WaiterId waiter, const CallCancelled& cancelled);
  void Take(WaiterId, const DeadlineReached& reached);
  void Take(WaiterId, const DrainBegun& drain);
  void Take(WaiterId, const VerdictFound& verdict);
  // A call. One that is refused has changed nothing.
  template <class Request>
  void Take(WaiterId waiter, const Request& request) {
    calls_.Open(waiter);
    if (absl::Status s = Receive(waiter, request); !s.ok()) calls_.Finish(waiter, s);
  }
  Effects End();

  Time NextDeadline() const;
  std::optional<Checkpoint> MakeCheckpoint() const;
  void Restore(Time now, const Checkpoint& checkpoint);
  JobStatus GetStatus(Time now, bool with_completed_leases) const;
  JobStatus GetBriefStatus(Time now, const std::vector<Incarnation>& members) const;
  std::vector<TimelineEntry> GetTimeline() const { return job_.timeline.Entries(); }
  Metrics Measure(Time now) const;
  bool Quiet() const { return !members_.any_attached() && claims_.empty(); }
  const JobContext& job() const { return job_; }
  const Lifecycle& life() const { return life_; }
  const Forming& forming() const { return forming_; }

 private:
  struct Loss {
    Member* member;
    LossCause kind;
    std::string cause;
    bool told = false;  // by a launcher, where the log goes: ExitReport::told
  };

  // ---- What a step takes in ----
  absl::Status Attach(WaiterId stream, const AttachRequest& request);
  // Any call of a member: serves it, or defers it until the recovery is over.
  template <class Request>
  absl::Status Receive(WaiterId waiter, const Request& request) {
    absl::StatusOr<Member*> caller = calls_.Caller(request.call);
    if (!caller.ok()) return caller.status();
    auto& server = ServerOf(request);
    if (absl::Status s = server.CheckContent(**caller, request); !s.ok()) return s;
    if (life_.recovering()) return Defer(waiter, *caller, request);
    return server.Serve(waiter, *caller, request);
  }
  absl::Status Receive(WaiterId waiter, const NodeCollectiveRequest& request) {
    return collectives_.Receive(waiter, request);
  }
  absl::Status Receive(WaiterId waiter, const ExitReport& report);
  absl::Status Receive(WaiterId waiter, const ProcessStateReport& report);

  // The part of the coordinator that serves a call. Its CheckContent says what is wrong with the
  // request whatever the state of the job is: that is refused before it is deferred. An error of
  // its Serve refuses the call, which has changed nothing then.
  template <class Request>
  Impl& ServerOf(const Request&) {
    return *this;
  }
  Joining& ServerOf(const JoinRequest&) { return joining_; }
  Collectives& ServerOf(const CollectiveRequest&) { return collectives_; }
  Collectives& ServerOf(const WithdrawRequest&) { return collectives_; }
  GroupReleases& ServerOf(const ReleaseRequest&) { return releases_; }
  Leases& ServerOf(const AcquireLeaseRequest&) { return leases_; }
  Leases& ServerOf(const CompleteLeaseRequest&) { return leases_; }
  Leases& ServerOf(const AbandonLeaseRequest&) { return leases_; }

  template <class Request>
  absl::Status CheckContent(const Member&, const Request&) const {
    return absl::OkStatus();
  }

  absl::Status Serve(WaiterId waiter, Member* member, const LeaveRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const RejoinRequest& request);
  absl::Status Serve(WaiterId waiter, Member* member, const StopRequest& request);

  absl::Status CheckContent(const Member& member, const RejoinRequest& request) const;

  // ---- advancing.cc: what has become due. Each returns whether it did something ----
  void Advance();
  bool AdvanceOnce();
  bool LoseDetached();   // members whose grace is over
  bool TryServeClaim();  // that was parked until the roster was known
  bool TryAskForRoster();
  bool TryDropOldRun();         // the recovered epoch is one of a run that is over
  bool TryEndRecovery();        // everybody is here or accounted for, or the grace is over
  bool TryFinishLeaving();      // everybody is leaving or lost
  bool TryResolveContenders();  // of those who ask for one and the same place
  bool TryLoseSilent();         // survivors that have not called Rejoin in time
  bool TryForm();               // the next epoch
  bool ServeNextDeferred();     // after a recovery

  // ---- The end of calls ----
  // The parked call goes without an answer, or is about to be answered: takes it out of where it
  // waits.
  void Withdraw(WaiterId id);
  void FinishAllOf(Member* member, const absl::Status& status);
  // The same, but for deferred calls: those are judged when they are served.
  void FinishServedOf(Member* member, const absl::Status& status);
  void TimeOut(WaiterId id);
  absl::Status DescribeTimeout(const ParkedCall& call);
  // Somebody waits for too long: whoever looks at processes may find out why.
  void Inquire(const std::string& reason) {
    if (job_.out.inquires()) return;
    const auto& wants_inquiry = job_.options.wants_inquiry;
    if (wants_inquiry && !wants_inquiry(job_.now, life_.ReportedState())) return;
    job_.out.Inquire({reason, std::make_shared<const JobStatus>(GetStatus(job_.now, false))});
  }

  // ---- sessions.cc ----
  absl::Status CheckAttach(const AttachRequest& request) const;
  absl::Status SupersedeAttach(const AttachRequest& request);
  absl::Status CheckRoomForMember() const;
  absl::Status Enter(WaiterId stream, const AttachRequest& request);
  absl::StatusOr<Member*> Admit(const AttachRequest& request);
  void StartSession(Member* member, WaiterId stream, const AttachRequest& request);
  void EndSession(Member* member);
  void EndStream(Member* member, const absl::Status& status);
  void Remove(Member* member);
  void Retire(const Epoch& previous);

  // ---- losses.cc ----
  absl::Status CheckReport(const std::string& job_id, const Incarnation& incarnation) const;
  Loss Silenced(Member* member) const;
  static Loss Ended(Member* member, const ExitReport& report);
  // What the report of a member that has gone was answered with when it came first.
  static Answer RepeatAnswer(Member* member, const ExitReport& report);
  // What the report is answered with; monostate where it has cost the job no member.
  Answer NoteExit(Member* member, const ExitReport& report);
  void Lose(const std::vector<Loss>& losses);
  void RecordLoss(Member* member, Failure failure, bool told = false);
  static std::string DescribeLoss(const Member& lost);
  void Break(const std::vector<Member*>& lost, bool told);
  void BreakEpoch(const std::string& reason, bool told = false);
  SharedEvent BrokenEvent(bool may_rejoin) const;

  // ---- claims.cc ----
  void ObserveNumbers(const Claim& claim);
  // `attempt`: of the Attach that has brought it.
  void ApplyClaim(Member* member, const Claim& claim, uint64_t attempt);
  void ApplyBrokenClaim(const BrokenClaim& claim);

  // ---- recovery.cc ----
  // Whether a claim of this epoch would win, if it said who the members are.
  bool MayWin(const EpochId& claimed) const;
  bool MustHearRoster(const AttachRequest& request) const;
  absl::Status ParkClaim(WaiterId stream, const AttachRequest& request);
  // Whether the stream was one of a parked claim.
  bool TakeParkedClaim(WaiterId stream);
  void EndParkedClaim(WaiterId stream, const absl::Status& status);
  void BeginRecovery(const MemberIdentity& claimant, const Claim& claim);
  void GiveRecoveryUp();
  absl::Status ConsiderClaimedEpoch(const MemberIdentity& claimant, const Claim& claim);
  void AdoptEpoch(const Claim& claim);
  void DropEpoch(const Roster& successor, const absl::Status& over);
  uint32_t NewcomersWorldSize() const;
  absl::Status Defer(WaiterId id, Member* member, MemberCall call);
  // The caller of a deferred call, if it has no place; else null.
  const Member* NewcomerBehind(WaiterId id) const;
  void TellNewcomersOfRecovery();
  void DeferCandidates();
  void EndRecovery();
  void LoseAbsent();
  Loss NotRecovered(Member* member) const;
  std::string DescribeAwaited() const;
  std::string DescribeAwaitedRoster() const;
  Time NextRecoveryStep() const;

  // ---- leaving.cc ----
  void StartLeaving(Member* member);
  void ReleaseForLeaving(Member* leaver);
  void MarkLeft(Member* member);
  absl::Status LeaveTimeout(const ParkedCall& call) const;

  // ---- stall.cc ----
  struct Stall {
    std::string operation;
    Time since;
    std::string usual;  // how long it takes otherwise, where that can be told
    std::string why;    // and who is missing
    std::vector<MissingMember> missing;
    std::vector<MissingMember> gave_up;
    std::vector<const Member*> waiting;
  };
  void CheckStalls();
  Time CheckStall(StallClock* clock, absl::Duration unusual, absl::FunctionRef<Stall()> describe);
  Time CheckRecovery();
  Time CheckCollectives();
  Time CheckLeave();
  Time CheckForming();
  void Announce(const Stall& stall);
  Stall StalledCollective(const CollectiveGroup& group) const;
  Stall StalledLeave() const;
  Stall StalledForming() const;
  Stall StalledRecovery() const;

  // ---- checkpoint.cc ----
  bool NothingIsUnderWay() const;
  void RestoreEpoch(const Checkpoint& checkpoint);

  // At the end of an epoch: whom the others have waited for.
  void LogStragglers();

  // ---- status.cc ----
  std::string DescribeState() const;
  MemberStatus StatusOf(const Member& member, Time now) const;
  LeaseStatus StatusOf(const LeaseKey& key, const LeaseTable::Lease& lease, Time now) const;
  std::vector<PendingCollective> PendingCollectives(Time now) const;
  std::vector<std::string> NodesThatArriveTogether() const;
  std::vector<Straggler> Stragglers() const;

  // ---- metrics.cc ----
  void MeasureCollectives(Time now, Metrics* metrics) const;

  Epoch* epoch() const { return life_.epoch(); }

  JobContext job_;  // before all that uses it
  Lifecycle life_{job_};
  StallWatch stalls_{job_};
  MemberTable members_;
  uint64_t last_session_ = 0;
  // Exits of processes that this daemon does not know: a claim may name them yet.
  absl::flat_hash_map<Incarnation, ExitReport> early_exits_;
  Calls calls_{job_, members_, stalls_};
  Groups groups_{job_, life_, members_, calls_};
  Collectives collectives_{job_, life_, members_, calls_, groups_};
  GroupReleases releases_{job_, life_, calls_, groups_};
  Leases leases_{job_, life_, members_, calls_};
  Joining joining_{job_, life_, members_, calls_};
  Forming forming_{job_, life_, members_, calls_, joining_};
  GivingUp giving_up_{job_, life_, joining_};
  NewcomerNews newcomer_news_{job_, life_, joining_};

  ParkedClaims claims_;
  Time recovery_ends_;             // while it lasts; there is no epoch before the roster is heard
  Time epoch_claimed_;             // the epoch that it recovers: first claimed at
  std::deque<WaiterId> deferred_;  // calls to serve then, in order
  // Deferred calls of newcomers, which must be told what they wait for: at most once a second.
  std::vector<WaiterId> untold_;
  Time may_tell_;

  StallClock leave_stall_;
  StallClock recovery_stall_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
