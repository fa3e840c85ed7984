#ifndef MUSTER_CLIENT_LAUNCHER_MPI_SERVER_H_
#define MUSTER_CLIENT_LAUNCHER_MPI_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/job_store_client.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/plan/rank_environment.h"
#include "client/launcher/pmi/mpi_ranks.h"
#include "client/launcher/pmi/world_nodes.h"
#include "client/launcher/process/event_loop.h"

namespace muster::launcher {

// The server of a node from which MPI programs get their ranks (docs/doors.md): PmiServer speaks
// PMI-1, PmixServer PMIx. MakeMpiServer() chooses one. Call it from one thread.
class MpiServer {
 public:
  struct Handlers {
    std::function<void(const std::string& text)> say;  // prints a line for the user
    // The rank has called MPI_Abort(), or broken the protocol. Its process has to end.
    std::function<void(int local_rank)> on_expelled;
    // Ranks wait for this one, whose process ended with status 0 before.
    std::function<void(int local_rank, const MpiFault& fault)> on_fault;
    // The world has ended on another node.
    std::function<void(const pmi::WorldEnd& end)> on_world_ended;
  };

  virtual ~MpiServer() = default;

  // Forgets all ranks and begins a new world. Call it before all ranks are started, or started
  // again.
  virtual absl::Status BeginWorld() = 0;

  // Returns how a new process of the rank reaches the server. Call CloseRankEnd() once the process
  // has it, or could not be started.
  virtual absl::StatusOr<MpiAccess> Connect(int local_rank) = 0;
  virtual void CloseRankEnd(int /*local_rank*/) {}

  // Handles the rank's last calls. Returns how it broke the rules of MPI, if it did. Call it when
  // the process has been reaped.
  virtual std::optional<MpiFault> Ended(int local_rank, const ProcessEnd& end) = 0;

  // Tells the other nodes of the world, if there are any, that it has ended here.
  virtual void EndWorld(const pmi::WorldEnd& end) = 0;
  // Tells the other nodes, which start their ranks again, that this one does not.
  virtual void RefuseRestart(const std::string& why) = 0;
  // Blocks until the other nodes can know what they were told, for at most five seconds.
  virtual void Flush() = 0;

  // Removes the server's files, in a process that is about to exit without destructors.
  virtual void RemoveFiles() {}

  // Return what MpiRanks says.
  virtual bool HasJoined(int local_rank) const = 0;
  virtual bool active() const = 0;
  virtual absl::Time next_warning() const = 0;
  virtual void Warn() = 0;
};

// Returns the server that the plan asks for, or one that does nothing. All pointers must outlive
// it.
std::unique_ptr<MpiServer> MakeMpiServer(const JobPlan* plan, JobStoreClient* store,
                                         EventLoop* loop, MpiServer::Handlers handlers);

// Passes an effect to its handler.
void CarryOut(const MpiServer::Handlers& handlers, const MpiEffect& effect);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_MPI_SERVER_H_
