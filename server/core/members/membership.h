#ifndef MUSTER_SERVER_CORE_MEMBERS_MEMBERSHIP_H_
#define MUSTER_SERVER_CORE_MEMBERS_MEMBERSHIP_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/core/api/requests.h"
#include "server/core/collectives/collectives.h"
#include "server/core/collectives/groups.h"
#include "server/core/formation/forming.h"
#include "server/core/formation/give_up_policy.h"
#include "server/core/formation/joining.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"
#include "server/core/leases/leases.h"
#include "server/core/support/stall_clock.h"

namespace muster::core {

// The comings and goings of members: their sessions (sessions.cc), their losses and what follows
// from these (losses.cc), Leave (leaving.cc) and Rejoin (rejoining.cc).
class Membership {
 public:
  Membership(JobContext& job, Lifecycle& life, MemberTable& members, Calls& calls, Groups& groups,
             Collectives& collectives, Leases& leases, Joining& joining, Forming& forming,
             GiveUpPolicy& give_up_policy);

  // ---- Sessions ---- Begins the session of a process that has attached, and ends its earlier
  // session. Returns whether there was one.
  bool StartSession(Member* member, WaiterId stream, uint64_t attempt);
  // Starts the grace of the member whose stream the other side has ended. Ignores unknown streams.
  void NoteStreamClosed(WaiterId stream);
  void EndStream(Member* member, const absl::Status& status);
  // Ends the member's calls and its stream, and deletes the member.
  void Dismiss(Member* member, const absl::Status& status);
  // Dismisses the members of the previous epoch that are not in the current one.
  void Retire(const Epoch& previous);
  // Takes the parked call out of the queue, group or lease in which it waits. It stays parked, so
  // the caller must drop or finish it next.
  void Withdraw(WaiterId id);
  uint64_t last_session() const { return last_session_; }
  // Restores it from a checkpoint.
  void RestoreLastSession(uint64_t last) { last_session_ = last; }

  // ---- Losses ----
  struct Loss {
    Member* member;
    LossCause kind;
    std::string cause;
    bool logged_by_launcher =
        false;  // a launcher prints it where the log goes: see ExitReport::logged_by_launcher
  };
  absl::Status Receive(WaiterId id, const ExitReport& report);
  absl::Status Receive(WaiterId id, const ProcessStateReport& report);
  // Loses members whose grace is over. Returns whether there were any.
  bool TryLoseDetached();
  // Loses these members, except those that are gone already. Breaks the epoch if one of them has a
  // rank in it.
  void Lose(const std::vector<Loss>& losses);
  // Makes the loss of a member whose process has ended.
  static Loss Ended(Member* member, const ExitReport& report);
  // Breaks the epoch: ends all of its parked calls, and tells every member.
  void BreakEpoch(const std::string& reason, bool logged_by_launcher = false);
  // Makes the event that tells members of the broken epoch.
  SharedEvent BrokenEvent(bool may_rejoin) const;
  // Breaks the epoch as a member claims, with the losses that it names.
  void ApplyBrokenClaim(const BrokenClaim& claim);
  // Makes the next epoch's number and the next token higher than all numbers in the claim.
  void ObserveNumbers(const Claim& claim);
  // Applies exits of the current epoch's members that were reported before the epoch was claimed.
  void ApplyEarlyExits();
  // Forgets early exits, because no claim can name these processes any more.
  void ForgetEarlyExits() { early_exits_.clear(); }

  // ---- Leave and Rejoin ----
  absl::Status CheckContent(const Member&, const LeaveRequest&) const { return absl::OkStatus(); }
  absl::Status Serve(WaiterId id, Member* member, const LeaveRequest& request);
  absl::Status CheckContent(const Member& member, const RejoinRequest& request) const;
  absl::Status Serve(WaiterId id, Member* member, const RejoinRequest& request);
  // Notes that the member leaves. Fails the calls that would wait for it in vain, and frees its
  // leases.
  void StartLeaving(Member* member);
  // Marks a member that needs nothing more. Its parked Leave succeeds, its stream may end at any
  // time, and no Rejoin is awaited from it.
  void MarkLeft(Member* member);
  // Finishes the job if every member is leaving or gone. Returns whether it did.
  bool TryFinish();
  absl::Status DescribeTimeout(const ParkedCall& call, const WaitForLeavers& wait) const;
  StallClock& leave_stall() { return leave_stall_; }

 private:
  void EndSession(Member* member);
  void FinishAllOf(Member* member, const absl::Status& status);
  // Finishes all calls but the deferred ones, which are judged when they are served.
  void FinishServedOf(Member* member, const absl::Status& status);
  // Deletes the member, and everything that other owners keep of it. Members are deleted in no
  // other way.
  void Remove(Member* member);

  // Returns the answer to the report, or monostate if the exit has cost the job no member.
  Answer NoteExit(Member* member, const ExitReport& report);
  void RecordLoss(Member* member, Failure failure, bool logged_by_launcher = false);
  void Break(const std::vector<Member*>& lost, bool logged_by_launcher);

  void ReleaseForLeaving(Member* leaver);
  absl::Status CheckRejoin(const Member& member, const RejoinRequest& request) const;
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  Lifecycle& life_;
  MemberTable& members_;
  Calls& calls_;
  Groups& groups_;
  Collectives& collectives_;
  Leases& leases_;
  Joining& joining_;
  Forming& forming_;
  GiveUpPolicy& give_up_policy_;
  uint64_t last_session_ = 0;
  // Exits of processes that this daemon does not know, but that a claim may still name.
  absl::flat_hash_map<Incarnation, ExitReport> early_exits_;
  StallClock leave_stall_;
};

// Returns the status that ends the older stream of a process that has attached again.
absl::Status ReplacedSession();

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_MEMBERS_MEMBERSHIP_H_
