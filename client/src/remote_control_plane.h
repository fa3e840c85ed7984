#ifndef MUSTER_CLIENT_SRC_REMOTE_CONTROL_PLANE_H_
#define MUSTER_CLIENT_SRC_REMOTE_CONTROL_PLANE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/src/background_calls.h"
#include "client/src/collective_sequence.h"
#include "client/src/connection.h"
#include "client/src/control_plane.h"
#include "client/src/lease_ledger.h"
#include "client/src/steady_clock.h"
#include "muster/job_options.h"

namespace muster::internal {

// A job that a coordinator holds together.
class RemoteControlPlane final : public ControlPlane {
 public:
  // Registers with the coordinator that `transport` reaches and blocks until all members have
  // joined, or the deadline. Errors: as Job::Join().
  static absl::StatusOr<std::unique_ptr<ControlPlane>> Join(std::unique_ptr<Transport> transport,
                                                            const JobOptions& options,
                                                            SteadyTime deadline,
                                                            Cancellation* cancellation);
  // Not for callers; see Join(). `place` is the answer that Join got.
  RemoteControlPlane(const JobOptions& options, std::unique_ptr<Connection> connection,
                     const v1::JoinResponse& place);
  ~RemoteControlPlane() override;

  const std::string& job_id() const override { return options_.job; }
  bool is_distributed() const override { return true; }
  const std::vector<Member>& members() const override { return members_; }
  int rank() const override { return rank_; }
  absl::Duration default_timeout() const override { return options_.timeout; }
  std::string local_address() const override { return local_address_; }
  size_t max_payload_bytes() const override { return limits_.max_payload_bytes(); }
  size_t max_name_bytes() const override { return limits_.max_name_bytes(); }

  absl::StatusOr<std::vector<std::string>> RunCollective(const std::string& group,
                                                         const std::vector<int>& ranks,
                                                         CollectiveCall call,
                                                         const CallOptions& options) override;
  absl::StatusOr<LeaseOutcome> AcquireLease(const std::string& name, LeaseScope scope,
                                            const CallOptions& options) override;
  absl::Status CompleteLease(const std::string& name, LeaseScope scope, uint64_t token,
                             const absl::StatusOr<std::string>& outcome) override;
  void ReleaseLease(const std::string& name, LeaseScope scope, uint64_t token) override;
  absl::Status Leave(const CallOptions& options) override;
  absl::Status health() const override { return connection_->health(); }
  absl::Status AwaitFailure(absl::Duration timeout) const override {
    return connection_->AwaitFailure(timeout);
  }
  Subscription OnFailure(std::function<void(const absl::Status&)> callback) override {
    return connection_->OnFailure(std::move(callback));
  }

 private:
  absl::Status CheckNotLeaving();
  // The sequence of the group, which lives as long as this object.
  CollectiveSequence* SequenceOf(const std::string& group);
  void Abandon(const std::string& name, LeaseScope scope, uint64_t request);
  absl::Status SendLeave(const CallOptions& options);

  const JobOptions options_;
  const EpochId epoch_;
  const int rank_;
  const std::vector<Member> members_;
  const std::unique_ptr<Connection> connection_;
  const v1::Limits limits_;
  const std::string local_address_;
  BackgroundCalls background_;

  std::mutex mutex_;
  // Under the mutex.
  bool leaving_ = false;
  bool left_ = false;
  std::map<std::string, CollectiveSequence> sequences_;
  LeaseLedger leases_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_REMOTE_CONTROL_PLANE_H_
