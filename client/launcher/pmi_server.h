#ifndef MUSTER_CLIENT_LAUNCHER_PMI_SERVER_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_SERVER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/launcher/mpi_server.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/pmi/engine.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/world_link.h"

namespace muster::launcher {

// Speaks PMI-1. Each rank has a socket to it, PMI_FD. This class reads and writes; pmi::Engine
// decides. If the plan offers no PMI, every call does nothing.
class PmiServer : public MpiServer {
 public:
  // All pointers must outlive this object.
  PmiServer(const JobPlan* plan, JobStoreClient* store, EventLoop* loop, Handlers handlers);
  ~PmiServer() override;
  PmiServer(const PmiServer&) = delete;
  PmiServer& operator=(const PmiServer&) = delete;

  absl::Status BeginWorld() override;
  // Without PMI, the access is empty.
  absl::StatusOr<MpiAccess> Connect(int local_rank) override;
  void CloseRankEnd(int local_rank) override;
  std::optional<MpiFault> Ended(int local_rank, const ProcessEnd& end) override;
  void EndWorld(const pmi::WorldEnd& end) override;
  void RefuseRestart(const std::string& why) override;
  void Flush() override;

  bool HasJoined(int local_rank) const override {
    return engine_ && engine_->HasJoined(local_rank);
  }
  bool active() const override { return engine_ && engine_->active(); }
  absl::Time next_warning() const override;
  void Warn() override;

 private:
  struct Connection {
    int fd = -1;
    int rank_end = -1;
  };

  void OnReadable(int local_rank);
  // Reads once. Returns false at the end of the connection, or if nothing is there.
  bool Read(int local_rank);
  void Close(int local_rank);
  void Send(int local_rank, const std::string& line);
  void BeginExchange(const pmi::Values& puts);
  WorldLink::Handlers LinkHandlers();
  // Tells the other nodes whether ranks of this one are in MPI.
  void JoinOrLeave();
  void CarryOut(const pmi::Effects& effects);
  void CarryOut(const pmi::Effect& effect);

  const JobPlan& plan_;
  EventLoop* const loop_;
  const Handlers handlers_;
  std::vector<Connection> connections_;  // by local rank
  std::optional<WorldLink> link_;        // unset if the job has one node
  std::optional<pmi::Engine> engine_;    // unset before BeginWorld(), and if there is no PMI
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_SERVER_H_
