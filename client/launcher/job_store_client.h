#ifndef MUSTER_CLIENT_LAUNCHER_JOB_STORE_CLIENT_H_
#define MUSTER_CLIENT_LAUNCHER_JOB_STORE_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/launcher/plan/job_plan.h"

namespace muster::internal {
class StoreDriver;
}

namespace muster::launcher {

// This launcher as a client of the job's store in musterd (docs/store.md): the one connection that
// PyTorch's store and MPI share. It survives the coordinator's restarts. Call it from one thread.
class JobStoreClient {
 public:
  // `plan` must outlive this object.
  explicit JobStoreClient(const JobPlan* plan) : plan_(*plan) {}
  // As Close().
  ~JobStoreClient();
  JobStoreClient(const JobStoreClient&) = delete;
  JobStoreClient& operator=(const JobStoreClient&) = delete;

  // Returns the driver, which has threads. Starts it the first time, without waiting for the
  // coordinator. An error says why the process cannot start it.
  absl::StatusOr<internal::StoreDriver*> Connect();

  // Returns the name that other clients of the store know this one by. Empty before Connect().
  const std::string& incarnation() const { return incarnation_; }

  // Leaves the store, so that the coordinator does not wait for this client. Blocks for at most a
  // second. The callbacks of operations and watches are over when it returns.
  void Close();

 private:
  const JobPlan& plan_;
  std::string incarnation_;
  std::shared_ptr<internal::StoreDriver> driver_;  // null before the first use
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_JOB_STORE_CLIENT_H_
