#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_LIFECYCLE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_LIFECYCLE_H_

#include <string>

#include "absl/status/status.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "client/src/protocol/messages/member_outbox.h"

namespace muster::internal {

// The member's state from start to end: rejoining, leaving, left, failed or stopped. Decides which
// calls are possible. Pure: no I/O, no threads, no clock.
class MemberLifecycle {
 public:
  MemberLifecycle(std::string job_id, MemberEpochs* epochs, MemberOutbox* outbox);
  MemberLifecycle(const MemberLifecycle&) = delete;
  MemberLifecycle& operator=(const MemberLifecycle&) = delete;

  // Fails the member: it can do nothing more in the job. The first reason wins.
  void Fail(const absl::Status& why);
  // Fails the member because the program destroys the Job.
  void Stop();
  // Ends the epoch: see MemberEpochs::Ended().
  void BreakEpoch(const EpochId& epoch, EpochEnd end);
  // Marks the beginning and the end of a Rejoin() call.
  void BeginRejoining() { rejoining_ = true; }
  void EndRejoining() { rejoining_ = false; }
  // Marks the beginning of Leave(), and its success. After that, nothing that happens to the job
  // matters.
  void BeginLeaving() { leaving_ = true; }
  void EndLeaving() { left_ = true; }
  // Notes that a stop was requested, by this program or as a collective reported, in any epoch.
  void NoteStopRequest() { stop_asked_ = true; }

  bool stop_asked() const { return stop_asked_; }

  bool rejoining() const { return rejoining_; }
  bool has_left() const { return left_; }
  bool was_stopped() const { return stopped_; }
  // Returns OK, or why the member can do nothing more in any epoch.
  const absl::Status& final_status() const { return final_status_; }
  // Returns whether the member no longer needs a coordinator.
  bool is_over() const { return left_ || !final_status_.ok(); }
  // Returns whether calls of the latest epoch are possible.
  bool can_call() const { return !leaving_ && !is_over() && epochs_.Health().ok(); }

  // Returns OK, or the error that every call of that epoch ends with.
  absl::Status HealthOf(const EpochId& epoch) const;
  // Returns OK, or the error of a call that begins now: in that epoch, or of the member at all.
  absl::Status CheckMember(const EpochId& epoch) const;
  absl::Status CheckNotLeaving() const;

  // Returns "rank 3 of job 'x'", or "job 'x'" before the member has joined.
  std::string Describe() const;
  // Adds the member's leave and stop requests to the claim.
  void AddTo(v1::Claim* claim) const;

 private:
  const std::string job_id_;
  MemberEpochs& epochs_;
  MemberOutbox& outbox_;

  absl::Status final_status_;
  bool rejoining_ = false;
  bool stop_asked_ = false;
  bool leaving_ = false;
  bool left_ = false;
  bool stopped_ = false;
};

// Returns the error of every call after Leave().
absl::Status LeftError(const std::string& job_id, int rank);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MEMBER_LIFECYCLE_H_
