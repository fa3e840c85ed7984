#ifndef MUSTER_CLIENT_SRC_PROTOCOL_LEASE_CALLS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_LEASE_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/src/base/deadline.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/attach_stream.h"
#include "client/src/protocol/groups/lease_records.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "client/src/protocol/messages/member_options.h"
#include "client/src/protocol/pending_calls.h"

namespace muster::internal {

// The lease calls of a member, and its records of leases. Pure: no I/O, no threads, no clock.
class LeaseCalls {
 public:
  LeaseCalls(const MemberOptions& options, const MemberLifecycle& lifecycle,
             const AttachStream& stream, PendingCalls* calls);
  LeaseCalls(const LeaseCalls&) = delete;
  LeaseCalls& operator=(const LeaseCalls&) = delete;

  void Acquire(SteadyTime now, CallId id, const EpochId& epoch, const LeaseId& lease,
               const Deadline& deadline);
  // Returns FAILED_PRECONDITION, and no call begins, if the member does not hold the lease under
  // this token.
  absl::Status Complete(SteadyTime now, CallId id, const EpochId& epoch, const LeaseId& lease,
                        uint64_t token, const absl::StatusOr<std::string>& outcome);
  // Gives up a held lease.
  void Release(SteadyTime now, const EpochId& epoch, const LeaseId& lease, uint64_t token);

  // Forgets the leases that the coordinator no longer lists as this member's.
  void DropUnlisted(const v1::Attached& attached);
  // Adds all leases to the claim.
  void AddTo(v1::Claim* claim) const { records_.AddTo(claim); }

 private:
  void FinishAcquire(const LeaseId& lease, uint64_t request, const PendingCall& call,
                     const absl::StatusOr<Response>& reply);
  void FinishComplete(const LeaseId& lease, uint64_t token,
                      const absl::StatusOr<std::string>& outcome, const absl::Status& status);
  void Abandon(SteadyTime now, const EpochId& epoch, const LeaseId& lease, uint64_t request);
  void NoteCompleted(const LeaseId& lease, const v1::LeaseResult& result);
  absl::Status NotHeld(const LeaseId& lease, uint64_t token) const;

  const MemberOptions& options_;
  const MemberLifecycle& lifecycle_;
  const AttachStream& stream_;
  PendingCalls& calls_;

  LeaseRecords records_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_LEASE_CALLS_H_
