#ifndef MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
#define MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/byte_budget.h"
#include "server/core/collective_group.h"
#include "server/core/coordinator.h"
#include "server/core/deadlines.h"
#include "server/core/lease_table.h"
#include "server/core/placement.h"

namespace muster::core {

// One process that has attached. Members of the epoch are kept, lost and left ones too, until the
// daemon ends; others only while they are there.
struct Member {
  MemberIdentity identity;
  uint64_t arrival = 0;  // order of the first Attach

  // The session, and its stream while that is open.
  SessionId session;
  uint64_t attach_attempt = 0;
  WaiterId stream = 0;
  bool attached() const { return stream != 0; }

  // Joining.
  std::optional<PlaceWish> wish;  // while it waits for the epoch to form
  WaiterId join_waiter = 0;
  uint64_t join_attempt = 0;

  // In the epoch.
  std::optional<uint32_t> rank;
  bool leaving = false;
  WaiterId leave_waiter = 0;
  bool left = false;
  std::optional<Failure> lost;

  // For messages and status.
  std::string last_collective;
  Time last_call;
  std::set<WaiterId> parked;

  std::string who() const;
};

// A parked call.
struct Waiter {
  enum class Call { kJoin, kCollective, kLease, kLeave };

  Member* member = nullptr;
  Call call = Call::kJoin;
  Time since;
  absl::Duration timeout;
  CollectiveGroup* group = nullptr;  // of a kCollective
  LeaseKey lease;                    // of a kLease
};

// One formed membership and its groups.
struct Epoch {
  EpochId id;
  std::shared_ptr<const Roster> roster;
  std::vector<Member*> members;  // by rank
  size_t leavers = 0;            // members that have called Leave
  std::map<std::pair<std::string, std::vector<uint32_t>>, std::unique_ptr<CollectiveGroup>> groups;
  absl::Status broken;  // once a member is lost: what every call of the epoch ends with
};

// The state behind Coordinator. Its functions stand in files by topic: sessions.cc (attach, detach,
// loss), joining.cc, collectives.cc, leases.cc, leaving.cc, status.cc; coordinator.cc has the
// frame.
class Coordinator::Impl {
 public:
  explicit Impl(Options options);

  absl::Status Attach(WaiterId stream, const AttachRequest& request);
  void StreamClosed(WaiterId stream);
  absl::Status Join(WaiterId waiter, const JoinRequest& request);
  absl::Status Collective(WaiterId waiter, const CollectiveRequest& request);
  absl::Status AcquireLease(WaiterId waiter, const AcquireLeaseRequest& request);
  absl::Status CompleteLease(WaiterId waiter, const CompleteLeaseRequest& request);
  absl::Status AbandonLease(WaiterId waiter, const AbandonLeaseRequest& request);
  absl::Status Leave(WaiterId waiter, const LeaveRequest& request);
  absl::Status ReportExit(WaiterId waiter, const ExitReport& report);
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

  // ---- coordinator.cc: calls and waiters ----
  absl::StatusOr<Member*> Caller(const CallContext& call);
  absl::Status CheckEpoch(const Member& member, const EpochId& epoch) const;
  absl::Status CheckCallContext(const CallContext& call) const;
  // What a call of a process that this daemon does not (or no longer) know is told.
  absl::Status UnknownSession(const SessionId& session) const;
  absl::Status CanPark() const;
  void Park(WaiterId id, Waiter waiter, const CallContext& call);
  // Ends a parked call; ids that are not parked are ignored.
  void Finish(WaiterId id, const absl::Status& status, Answer answer = {});
  // Answers a call that was never parked.
  void Respond(WaiterId id, Answer answer = {});
  // The parked call goes without an answer, or is about to be answered: takes it out of where it
  // waits.
  void Withdraw(WaiterId id);
  std::optional<Waiter> Unpark(WaiterId id);
  void FinishAllOf(Member* member, const absl::Status& status);
  void TimeOut(WaiterId id);
  void Log(Severity severity, std::string text);
  std::string Say(absl::string_view text) const;  // with the job's name before it
  absl::Status Say(const absl::Status& status) const;

  // ---- sessions.cc ----
  absl::Status CheckAttach(const AttachRequest& request) const;
  absl::StatusOr<Member*> Admit(const AttachRequest& request);
  void StartSession(Member* member, WaiterId stream, const AttachRequest& request);
  void EndStream(Member* member, const absl::Status& status);
  void ExpireGraces();
  void Lose(const std::vector<Loss>& losses);
  void RecordLoss(Member* member, const std::string& cause);
  void Break(const std::vector<Member*>& lost);
  void SendBroken(Member* member);
  void Remove(Member* member);

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
  void TryForm();
  void Form(const std::vector<Member*>& chosen);
  absl::Status JoinTimeout(const Waiter& waiter) const;

  // ---- collectives.cc ----
  absl::Status CheckCollective(const CollectiveRequest& request) const;
  absl::Status CheckGroup(const CollectiveRequest& request, uint32_t caller_rank) const;
  absl::StatusOr<CollectiveGroup*> FindGroup(const CollectiveRequest& request);
  absl::Status CheckNobodyIsLeaving(const CollectiveGroup& group, const std::string& op) const;
  void Apply(CollectiveGroup* group, CollectiveGroup::Step step);
  void FailCollectivesOf(Member* leaver);
  absl::Status CollectiveTimeout(const Waiter& waiter) const;
  std::string DescribeMissing(const CollectiveGroup& group) const;

  // ---- leases.cc ----
  absl::Status CheckLease(absl::string_view name) const;
  LeaseKey KeyOf(const Member& member, LeaseScope scope, const std::string& name) const;
  bool MayGrant() const;
  void Apply(const LeaseTable::Step& step);
  void GrantLeases();
  absl::Status LeaseTimeout(const Waiter& waiter) const;

  // ---- leaving.cc ----
  void ReleaseForLeaving(Member* leaver);
  void TryFinishLeaving();
  void MarkLeft(Member* member);
  absl::Status LeaveTimeout(const Waiter& waiter) const;

  // ---- status.cc ----
  std::string FormingWords() const;
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

  absl::flat_hash_map<WaiterId, Waiter> waiters_;
  Deadlines<WaiterId> deadlines_;

  // Members that wait for the epoch to form, by arrival; places that they ask for.
  std::map<uint64_t, Member*> candidates_;
  std::map<uint32_t, Member*> rank_places_;
  std::map<std::pair<std::string, uint32_t>, Member*> local_places_;
  Deadlines<Incarnation> contenders_;  // want a place that a live member holds
  uint32_t agreed_size_ = 0;           // by the first candidate that names one
  std::string agreed_by_;

  ByteBudget budget_;  // before the groups and leases that use it
  LeaseTable leases_;
  std::unique_ptr<Epoch> epoch_;
  uint64_t highest_epoch_ = 0;
  JobState state_ = JobState::kForming;
  std::string reason_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COORDINATOR_IMPL_H_
