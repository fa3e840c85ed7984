#ifndef MUSTER_SERVER_CORE_RECOVERY_ATTACHING_H_
#define MUSTER_SERVER_CORE_RECOVERY_ATTACHING_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/api/claim.h"
#include "server/core/api/requests.h"
#include "server/core/collectives/group_releases.h"
#include "server/core/collectives/groups.h"
#include "server/core/formation/give_up_policy.h"
#include "server/core/formation/newcomer_announcer.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"
#include "server/core/leases/leases.h"
#include "server/core/members/membership.h"
#include "server/core/recovery/recovery.h"

namespace muster::core {

// The handler of Attach: lets processes in, and hands the parts of their claims to the owners
// concerned.
class Attaching {
 public:
  Attaching(JobContext& job, Lifecycle& life, MemberTable& members, Membership& membership,
            Groups& groups, GroupReleases& releases, Leases& leases, GiveUpPolicy& give_up_policy,
            NewcomerAnnouncer& newcomer_announcer, Recovery& recovery);

  // Lets the process in, or parks its claim until the roster of the claimed epoch is known. An
  // error ends the stream.
  absl::Status Serve(WaiterId stream, const AttachRequest& request);
  // Lets in one process whose claim was parked, once its claim can be judged. Returns whether there
  // was one.
  bool TryServeParked();

 private:
  absl::Status Check(const AttachRequest& request) const;
  absl::Status Supersede(const AttachRequest& request);
  absl::Status Enter(WaiterId stream, const AttachRequest& request);
  // Returns the member that the request comes from: a known one, or a new one if there is room.
  absl::StatusOr<Member*> Admit(const AttachRequest& request);
  void StartSession(Member* member, WaiterId stream, const AttachRequest& request);
  // Hands out the claim that the Attach under this attempt has brought.
  void ApplyClaim(Member* member, const Claim& claim, uint64_t attempt);

  JobContext& job_;
  Lifecycle& life_;
  MemberTable& members_;
  Membership& membership_;
  Groups& groups_;
  GroupReleases& releases_;
  Leases& leases_;
  GiveUpPolicy& give_up_policy_;
  NewcomerAnnouncer& newcomer_announcer_;
  Recovery& recovery_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_RECOVERY_ATTACHING_H_
