#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_REMOTE_CONTROL_PLANE_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_REMOTE_CONTROL_PLANE_H_

#include <memory>
#include <string>
#include <vector>

#include "client/src/base/deadline.h"
#include "client/src/control_plane/control_plane.h"
#include "client/src/control_plane/member_driver.h"
#include "client/src/control_plane/remote_store.h"
#include "muster/job_options.h"

namespace muster::internal {

// The control plane of a job with a coordinator.
class RemoteControlPlane final : public ControlPlane {
 public:
  // Registers with the coordinator behind `transport`, and blocks until the epoch has formed or the
  // deadline has passed. Errors: as Job::Join().
  // `store_transport` makes the transport of the job's store, when that is first used.
  static absl::StatusOr<std::unique_ptr<ControlPlane>> Join(
      std::unique_ptr<Transport> transport, const JobOptions& options, const Deadline& deadline,
      StoreTransportFactory store_transport = nullptr);
  // Not for callers; see Join(). `place` is the answer to Join.
  RemoteControlPlane(const JobOptions& options, std::shared_ptr<MemberDriver> driver,
                     std::shared_ptr<RemoteStore> store, const v1::JoinResponse& place);
  ~RemoteControlPlane() override;

  const std::string& job_id() const override { return options_.job; }
  bool is_distributed() const override { return true; }
  const std::vector<Member>& members() const override { return members_; }
  int rank() const override { return rank_; }
  uint64_t epoch() const override { return epoch_.number; }
  absl::Duration default_timeout() const override { return options_.timeout; }
  std::string local_address() const override { return local_address_; }
  size_t max_payload_bytes() const override { return limits_.max_payload_bytes(); }
  size_t max_name_bytes() const override { return limits_.max_name_bytes(); }

  absl::StatusOr<std::vector<std::string>> RunCollective(const std::string& group,
                                                         const std::vector<int>& ranks,
                                                         CollectiveCall call,
                                                         const CallOptions& options) override;
  void HoldGroup(const std::string& group, const std::vector<int>& ranks) override;
  void DropGroup(const std::string& group, const std::vector<int>& ranks) override;
  absl::StatusOr<LeaseOutcome> AcquireLease(const std::string& name, LeaseScope scope,
                                            const CallOptions& options) override;
  absl::Status CompleteLease(const std::string& name, LeaseScope scope, uint64_t token,
                             const absl::StatusOr<std::string>& outcome) override;
  void ReleaseLease(const std::string& name, LeaseScope scope, uint64_t token) override;
  absl::Status Leave(const CallOptions& options) override;
  absl::StatusOr<std::unique_ptr<ControlPlane>> Rejoin(const CallOptions& options) override;
  int newcomers_waiting() const override { return driver_->NewcomersWaiting(epoch_); }
  Subscription OnNewcomers(std::function<void()> callback) override {
    return driver_->OnNewcomers(epoch_, std::move(callback));
  }
  absl::Status RequestStop(const CallOptions& options) override;
  bool stop_requested() const override { return driver_->StopRequested(epoch_); }
  absl::Status health() const override { return driver_->HealthOf(epoch_); }
  absl::Status AwaitFailure(absl::Duration timeout) const override {
    return driver_->AwaitFailure(epoch_, timeout);
  }
  absl::Status AwaitLoss(const CallOptions& options) const override {
    return driver_->AwaitLoss(epoch_, *options.timeout, options.cancellation);
  }
  Subscription OnFailure(std::function<void(const absl::Status&)> callback) override {
    return driver_->OnFailure(epoch_, std::move(callback));
  }
  absl::StatusOr<std::shared_ptr<StorePlane>> store() override { return store_->Get(); }
  void Close() override;

 private:
  // Begins a call of the member and blocks until it has ended. `begin` is a method of MemberCore
  // that takes `args` between the call's id and its deadline.
  template <typename Begin, typename... Args>
  absl::StatusOr<Response> CallAndWait(const CallOptions& options, Begin begin, Args&&... args);

  const JobOptions options_;
  const EpochId epoch_;
  const int rank_;
  const std::vector<Member> members_;
  const std::shared_ptr<MemberDriver> driver_;
  const std::shared_ptr<RemoteStore> store_;
  const v1::Limits limits_;
  const std::string local_address_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_REMOTE_CONTROL_PLANE_H_
