#ifndef MUSTER_CLIENT_LAUNCHER_PMIX_SERVER_H_
#define MUSTER_CLIENT_LAUNCHER_PMIX_SERVER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/mpi_server.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/pmix/abi.h"
#include "client/launcher/pmix/engine.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/process/event_queue.h"
#include "client/launcher/world_link.h"

namespace muster::launcher {

// Speaks PMIx, through libmuster_pmix.so, which it loads. The library calls from PMIx's own thread;
// each call becomes a request that the loop's thread handles. pmix::Engine decides.
//
// libpmix, and the ranks' MPI, write files. They are in a folder of this object, which removes it.
class PmixServer : public MpiServer {
 public:
  // All pointers must outlive this object.
  PmixServer(const JobPlan* plan, JobStoreClient* store, EventLoop* loop, Handlers handlers);
  ~PmixServer() override;
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  // Starts the PMIx server, the first time. An error is a text for the user.
  absl::Status BeginWorld() override;
  absl::StatusOr<MpiAccess> Connect(int local_rank) override;
  std::optional<MpiFault> Ended(int local_rank, const ProcessEnd& end) override;
  void EndWorld(const pmi::WorldEnd& end) override;
  void RefuseRestart(const std::string& why) override;
  void Flush() override;
  void RemoveFiles() override;

  bool HasJoined(int local_rank) const override {
    return engine_ && engine_->HasJoined(local_rank);
  }
  bool active() const override { return engine_ && engine_->active(); }
  absl::Time next_warning() const override;
  void Warn() override;

 private:
  // Called from PMIx's thread.
  static void OnRequest(void* self, const MusterPmixRequest* request);

  absl::Status Start();
  void CloseWorld();
  // Returns the name of the next world, the same on all nodes.
  std::string NextName() const;
  WorldLink::Handlers LinkHandlers();
  // Tells the other nodes whether ranks of this one are in MPI.
  void JoinOrLeave();
  absl::Status AddWorld(const std::string& name);
  void HandleRequests();
  void DropRequests();
  void CarryOut(const pmix::Effects& effects);

  const JobPlan& plan_;
  const bool oversubscribed_;  // this node has more ranks than CPUs
  EventLoop* const loop_;
  const Handlers handlers_;
  const MusterPmix* library_ = nullptr;  // null until it is started
  std::string folder_;
  std::string world_;  // its name; "" if there is none
  std::optional<pmix::Engine> engine_;
  std::optional<WorldLink> link_;  // unset if the job has one node
  EventQueue<pmix::Request> requests_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PMIX_SERVER_H_
