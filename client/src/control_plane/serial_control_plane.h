#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_SERIAL_CONTROL_PLANE_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_SERIAL_CONTROL_PLANE_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/src/control_plane/control_plane.h"
#include "client/src/control_plane/local_store.h"
#include "client/src/control_plane/one_time_event.h"
#include "muster/job_options.h"

namespace muster::internal {

// The control plane of serial mode: a job of one process without a coordinator. Collectives return
// the caller's own value. Leases exclude the threads of the process from each other.
class SerialControlPlane final : public ControlPlane {
 public:
  explicit SerialControlPlane(const JobOptions& options);

  const std::string& job_id() const override { return job_id_; }
  bool is_distributed() const override { return false; }
  const std::vector<Member>& members() const override { return members_; }
  int rank() const override { return 0; }
  uint64_t epoch() const override { return 1; }
  absl::Duration default_timeout() const override { return default_timeout_; }
  std::string local_address() const override { return ""; }
  size_t max_payload_bytes() const override { return 0; }
  size_t max_name_bytes() const override;

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
  absl::StatusOr<std::unique_ptr<ControlPlane>> Rejoin(const CallOptions& options) override;
  int newcomers_waiting() const override { return 0; }
  Subscription OnNewcomers(std::function<void()> callback) override { return Subscription(); }
  absl::Status RequestStop(const CallOptions& options) override;
  bool stop_requested() const override;
  // Only the end of the Job is reported, since there is no other member to lose.
  absl::Status health() const override;
  absl::Status AwaitFailure(absl::Duration timeout) const override;
  absl::Status AwaitLoss(const CallOptions&) const override { return health(); }
  Subscription OnFailure(std::function<void(const absl::Status&)> callback) override;
  absl::StatusOr<std::shared_ptr<StorePlane>> store() override { return store_; }
  void Close() override;

 private:
  struct WorkState {
    bool held = false;
    bool completed = false;
    uint64_t token = 0;
    absl::StatusOr<std::string> result;
  };

  // Returns an error if the process has left, or the Job was destroyed. Under the lock.
  absl::Status CheckMember() const;
  uint64_t NextToken();

  const std::string job_id_;
  const absl::Duration default_timeout_;
  const std::vector<Member> members_;
  const std::shared_ptr<LocalStore> store_;
  const std::shared_ptr<OneTimeEvent<absl::Status>> failure_ =
      std::make_shared<OneTimeEvent<absl::Status>>();
  // Not an absl::Mutex, whose waits may take their time-outs from the wall clock.
  mutable std::mutex mutex_;  // guards all fields below
  mutable std::condition_variable changed_;
  absl::Status health_;  // an error once the Job is destroyed
  bool left_ = false;
  bool stop_asked_ = false;
  bool stop_requested_ = false;
  uint64_t highest_token_ = 0;
  std::map<std::pair<std::string, LeaseScope>, WorkState> work_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_SERIAL_CONTROL_PLANE_H_
