#ifndef MUSTER_SERVER_CORE_LEASES_LEASES_H_
#define MUSTER_SERVER_CORE_LEASES_LEASES_H_

#include <vector>

#include "absl/status/status.h"
#include "server/core/api/checkpoint.h"
#include "server/core/api/claim.h"
#include "server/core/api/requests.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"
#include "server/core/job/parked_calls.h"
#include "server/core/leases/lease_table.h"

namespace muster::core {

// The handler of the lease calls, which also grants leases. LeaseTable has the leases; this adds
// the job's rules: which member may call, and when leases are granted.
class Leases {
 public:
  Leases(JobContext& job, const Lifecycle& life, const MemberTable& members, Calls& calls);

  absl::Status CheckContent(const Member& member, const AcquireLeaseRequest& request) const;
  absl::Status CheckContent(const Member& member, const CompleteLeaseRequest& request) const;
  absl::Status CheckContent(const Member& member, const AbandonLeaseRequest& request) const;
  absl::Status Serve(WaiterId id, Member* member, const AcquireLeaseRequest& request);
  absl::Status Serve(WaiterId id, Member* member, const CompleteLeaseRequest& request);
  absl::Status Serve(WaiterId id, Member* member, const AbandonLeaseRequest& request);

  // Grants the leases that can be granted now. Returns whether there were any.
  bool TryGrant();
  // Takes the member's parked call out of the lease's queue.
  void Withdraw(const Member& member, const WaitForLease& wait);
  absl::Status DescribeTimeout(const ParkedCall& call, const WaitForLease& wait) const;
  // Frees what the member holds, because it is gone or leaves. Its waiting calls must have been
  // finished.
  void Forget(const Member& member) { table_.Forget(member.incarnation()); }

  // Applies the leases that a member claims to hold or to have completed. Returns the tokens that
  // stand.
  std::vector<uint64_t> Adopt(const Member& member, const Claim& claim);
  void ObserveToken(uint64_t token) { table_.Observe(token); }
  // Forgets all leases, because they were another run's.
  void Clear() { table_.Clear(); }

  const LeaseTable& table() const { return table_; }
  // `out` must have its members already.
  void MakeCheckpoint(Checkpoint* out) const;
  void Restore(const Checkpoint& checkpoint);

 private:
  bool MayGrant() const;
  void AdoptResults(const Member& member, const Claim& claim);
  // Finishes the calls that the table has ended.
  void Apply(const LeaseTable::Step& step);
  void ReportForgottenResults();

  JobContext& job_;
  const Lifecycle& life_;
  const MemberTable& members_;
  Calls& calls_;
  LeaseTable table_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_LEASES_LEASES_H_
