#ifndef MUSTER_SERVER_CORE_RECOVERY_RECOVERY_H_
#define MUSTER_SERVER_CORE_RECOVERY_RECOVERY_H_

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/api/claim.h"
#include "server/core/api/requests.h"
#include "server/core/collectives/group_releases.h"
#include "server/core/formation/forming.h"
#include "server/core/formation/give_up_policy.h"
#include "server/core/formation/joining.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"
#include "server/core/job/stall_watch.h"
#include "server/core/leases/leases.h"
#include "server/core/members/membership.h"
#include "server/core/recovery/parked_claims.h"
#include "server/core/support/stall_clock.h"

namespace muster::core {

// The recovery of a restarted coordinator, which learns from the members what their epoch is.
//
// It begins with the first claim. It ends when every member of the claimed epoch is here or
// accounted for, or when the recovery grace is over. Until then calls are deferred, no lease is
// granted and no epoch forms. Afterwards the calls are served as if they had come then.
//
// A claim does not say who the members of its epoch are. One claimant is asked, and the claims wait
// for its answer (claims.cc).
class Recovery {
 public:
  Recovery(JobContext& job, Lifecycle& life, MemberTable& members, Calls& calls, StallWatch& stalls,
           GroupReleases& releases, Leases& leases, Joining& joining, Forming& forming,
           GiveUpPolicy& give_up_policy, Membership& membership);

  // ---- Claims ----
  const ParkedClaims& claims() const { return claims_; }
  // Returns whether the request's claim must wait until a claimant has named the members of its
  // epoch.
  bool NeedsRoster(const AttachRequest& request) const;
  // Parks the claim. The first one begins the recovery.
  absl::Status ParkClaim(WaiterId stream, const AttachRequest& request);
  // Removes the claim from the parked ones. Returns false if the stream has none.
  bool TakeParkedClaim(WaiterId stream);
  void EndParkedClaim(WaiterId stream, const absl::Status& status);
  // Removes and returns the next parked claim that need not wait any longer.
  std::optional<ParkedClaims::Entry> TakeServableClaim();
  absl::Status CheckRoomForMember() const;
  // Judges the claimed epoch, and adopts it if it wins. An error turns the claimant away.
  absl::Status ConsiderClaimedEpoch(const MemberIdentity& claimant, const Claim& claim);
  // Notes that a session has begun, so that the recovery makes progress.
  void NoteAttached();

  // ---- Deferred calls ----
  // Parks the call until the recovery is over. Returns UNAVAILABLE if there is no room for it.
  absl::Status Defer(WaiterId id, Member* member, MemberCall call);
  // Returns the next deferred call, once the recovery is over. The call may have ended in the
  // meantime.
  std::optional<WaiterId> PopDeferred();
  absl::Status DescribeTimeout(const ParkedCall& call, const WaitForRecovery& wait) const;

  // ---- What has become due; each returns whether it did something ----
  // Asks the next claimant for the roster, if the last one has not answered in time.
  bool TryAskForRoster();
  // Drops the claimed epoch if its run is over.
  bool TryDropOldRun();
  // Ends the recovery if every member is here or accounted for, or the grace is over.
  bool TryEnd();
  // Tells processes that wait for a place whom the recovery waits for.
  void NotifyNewcomers();
  Time NextStep() const;

  // Returns the ranks that are neither back nor gone, or none while there is no roster.
  std::vector<uint32_t> AbsentRanks() const;
  // Returns a text that says whom the coordinator waits for.
  std::string DescribeAwaited() const;
  Time began() const { return ends_ - job_.options.recovery_grace; }
  StallClock& stall() { return stall_; }

 private:
  // Returns whether a claim of this epoch would win, if it had the roster.
  bool MayWin(const EpochId& claimed) const;
  void Begin(const MemberIdentity& claimant, const Claim& claim);
  void GiveUp();
  void End();
  void AdoptEpoch(const Claim& claim);
  void DropEpoch(const Roster& successor, const absl::Status& over);
  void LoseAbsent();
  Membership::Loss NotRecovered(Member* member) const;
  void DeferCandidates();
  uint32_t NewcomersWorldSize() const;
  // Returns the caller of a deferred call, if it has no place; else null.
  const Member* NewcomerOf(WaiterId id) const;
  std::string DescribeAwaitedRoster() const;
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  Lifecycle& life_;
  MemberTable& members_;
  Calls& calls_;
  StallWatch& stalls_;
  GroupReleases& releases_;
  Leases& leases_;
  Joining& joining_;
  Forming& forming_;
  GiveUpPolicy& give_up_policy_;
  Membership& membership_;
  ParkedClaims claims_;
  Time ends_;                      // while it lasts; there may be no epoch yet
  Time epoch_claimed_;             // when the epoch under recovery was first claimed
  std::deque<WaiterId> deferred_;  // the calls to serve afterwards, in order
  // Deferred calls of newcomers that must be told whom they wait for, at most once a second.
  std::vector<WaiterId> unnotified_;
  Time next_notice_;
  StallClock stall_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_RECOVERY_RECOVERY_H_
