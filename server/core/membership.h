#ifndef MUSTER_SERVER_CORE_MEMBERSHIP_H_
#define MUSTER_SERVER_CORE_MEMBERSHIP_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/core/calls.h"
#include "server/core/collectives.h"
#include "server/core/forming.h"
#include "server/core/giving_up.h"
#include "server/core/groups.h"
#include "server/core/job_context.h"
#include "server/core/joining.h"
#include "server/core/leases.h"
#include "server/core/lifecycle.h"
#include "server/core/member_table.h"
#include "server/core/requests.h"
#include "server/core/stall_clock.h"

namespace muster::core {

// How members come and go: their sessions (sessions.cc), their losses and what follows from these
// (losses.cc), and Leave (leaving.cc).
class Membership {
 public:
  Membership(JobContext& job, Lifecycle& life, MemberTable& members, Calls& calls, Groups& groups,
             Collectives& collectives, Leases& leases, Joining& joining, Forming& forming,
             GivingUp& giving_up);

  // ---- Sessions ----
  // The process has attached; any session before this one is over. Returns whether there was one.
  bool StartSession(Member* member, WaiterId stream, uint64_t attempt);
  // The other side has ended the stream. Unknown streams are ignored.
  void NoteStreamClosed(WaiterId stream);
  void EndStream(Member* member, const absl::Status& status);
  // Ends all that the member waits for, and its stream, and forgets it.
  void Dismiss(Member* member, const absl::Status& status);
  // Forgets the members of the epoch before that are not in the current one.
  void Retire(const Epoch& previous);
  // The parked call goes without an answer, or is about to be answered: takes it out of where it
  // waits.
  void Withdraw(WaiterId id);
  uint64_t last_session() const { return last_session_; }
  // From a checkpoint.
  void RestoreLastSession(uint64_t last) { last_session_ = last; }

  // ---- Losses ----
  struct Loss {
    Member* member;
    LossCause kind;
    std::string cause;
    bool told = false;  // by a launcher, where the log goes: ExitReport::told
  };
  absl::Status Receive(WaiterId id, const ExitReport& report);
  absl::Status Receive(WaiterId id, const ProcessStateReport& report);
  // Loses members whose grace is over. Returns whether there were any.
  bool TryLoseDetached();
  void Lose(const std::vector<Loss>& losses);
  static Loss Ended(Member* member, const ExitReport& report);
  // Every parked call of the epoch ends, and every member is told.
  void BreakEpoch(const std::string& reason, bool told = false);
  SharedEvent BrokenEvent(bool may_rejoin) const;
  void ApplyBrokenClaim(const BrokenClaim& claim);
  // The current epoch was claimed: exits of its members count that came before it was known.
  void ApplyEarlyExits();
  // No epoch can be claimed any more that they might concern.
  void ForgetEarlyExits() { early_exits_.clear(); }

  // ---- Leave ----
  absl::Status CheckContent(const Member&, const LeaveRequest&) const { return absl::OkStatus(); }
  absl::Status Serve(WaiterId id, Member* member, const LeaveRequest& request);
  void StartLeaving(Member* member);
  // The member needs nothing more: its parked Leave succeeds, and its stream may end any time.
  // Nobody waits for its Rejoin any more.
  void MarkLeft(Member* member);
  // The job is finished once everybody is leaving or lost. Returns whether it has just been.
  bool TryFinish();
  absl::Status DescribeTimeout(const ParkedCall& call, const ForLeavers& wait) const;
  StallClock& leave_stall() { return leave_stall_; }

 private:
  void EndSession(Member* member);
  void FinishAllOf(Member* member, const absl::Status& status);
  // The same, but for deferred calls: those are judged when they are served.
  void FinishServedOf(Member* member, const absl::Status& status);
  // The one way in which a member is forgotten: nothing of it stays behind.
  void Remove(Member* member);

  absl::Status CheckReport(const std::string& job_id, const Incarnation& incarnation) const;
  Loss Silenced(Member* member) const;
  // What the report is answered with; monostate where it has cost the job no member.
  Answer NoteExit(Member* member, const ExitReport& report);
  void RecordLoss(Member* member, Failure failure, bool told = false);
  void Break(const std::vector<Member*>& lost, bool told);

  void ReleaseForLeaving(Member* leaver);
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
  GivingUp& giving_up_;
  uint64_t last_session_ = 0;
  // Exits of processes that this daemon does not know: a claim may name them yet.
  absl::flat_hash_map<Incarnation, ExitReport> early_exits_;
  StallClock leave_stall_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_MEMBERSHIP_H_
