#ifndef MUSTER_CLIENT_SRC_PROTOCOL_LIFECYCLE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_LIFECYCLE_H_

#include <string>

#include "absl/status/status.h"
#include "client/src/protocol/epoch_id.h"
#include "client/src/protocol/membership.h"
#include "client/src/protocol/outbox.h"

namespace muster::internal {

// How far a member is between its start and its end: whether it rejoins, leaves, has left, has
// failed or was stopped, and so which calls are possible. Pure: no I/O, no threads, no clock.
class Lifecycle {
 public:
  Lifecycle(std::string job_id, Membership* membership, Outbox* outbox);
  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  // This member can do nothing more in the job. The first reason counts.
  void Fail(const absl::Status& why);
  // The same, since the program asks for it.
  void Stop();
  // The epoch has ended: see Membership::Ended().
  void BreakEpoch(const EpochId& epoch, EpochEnd end);
  // A call of Rejoin() has begun, or ended.
  void BeginRejoining() { rejoining_ = true; }
  void EndRejoining() { rejoining_ = false; }
  // The program has called Leave(), or has got its answer: nothing that happens to the job matters.
  void BeginLeaving() { leaving_ = true; }
  void EndLeaving() { left_ = true; }
  // A stop was asked for, by this program or as a collective has said, in any epoch.
  void AskStop() { stop_asked_ = true; }

  bool rejoining() const { return rejoining_; }
  bool has_left() const { return left_; }
  bool was_stopped() const { return stopped_; }
  // OK, or why the member can do nothing more, whatever the epoch.
  const absl::Status& fate() const { return fate_; }
  // Whether the member needs no coordinator any more.
  bool is_over() const { return left_ || !fate_.ok(); }
  // Whether calls of the latest epoch are possible.
  bool is_well() const { return !leaving_ && !is_over() && membership_.Health().ok(); }

  // OK, or the error that every call of that epoch ends with.
  absl::Status HealthOf(const EpochId& epoch) const;
  // OK, or the error of a call of that epoch, or of the member, that begins now.
  absl::Status CheckMember(const EpochId& epoch) const;
  absl::Status CheckNotLeaving() const;

  // "rank 3 of job 'x'", or "job 'x'" before it has joined.
  std::string Describe() const;
  // Puts what the member asks for into what it tells a coordinator.
  void AddTo(v1::Claim* claim) const;

 private:
  const std::string job_id_;
  Membership& membership_;
  Outbox& outbox_;

  absl::Status fate_;
  bool rejoining_ = false;
  bool stop_asked_ = false;
  bool leaving_ = false;
  bool left_ = false;
  bool stopped_ = false;
};

// What every call says after Leave().
absl::Status LeftError(const std::string& job_id, int rank);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_LIFECYCLE_H_
