#ifndef MUSTER_CLIENT_LAUNCHER_PMI_SERVER_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/pmi/engine.h"
#include "client/launcher/pmi/node_exchange.h"
#include "client/launcher/process/event_loop.h"

namespace muster::launcher {

// The PMI server of a node, from which MPI programs get their ranks (docs/doors.md). Each rank has
// a socket to it, PMI_FD. This class reads and writes; pmi::Engine decides. If the plan offers no
// PMI, every call does nothing.
class PmiServer {
 public:
  struct Handlers {
    std::function<void(const std::string& text)> say;  // prints a line for the user
    // The rank has called MPI_Abort(), or broken the protocol. Its process has to end.
    std::function<void(int local_rank)> on_expelled;
    // Ranks wait for this one, whose process ended with status 0 before.
    std::function<void(int local_rank, const MpiFault& fault)> on_fault;
  };

  // All pointers must outlive this object.
  PmiServer(const JobPlan* plan, EventLoop* loop, Handlers handlers);
  ~PmiServer();
  PmiServer(const PmiServer&) = delete;
  PmiServer& operator=(const PmiServer&) = delete;

  // Forgets all ranks and begins a new world. Call it before all ranks are started, or started
  // again.
  void BeginWorld();

  // Returns the rank's end of a new connection, which is close-on-exec, or -1 if the plan offers no
  // PMI. Call CloseRankEnd() once the process has it, or could not be started.
  absl::StatusOr<int> Connect(int local_rank);
  void CloseRankEnd(int local_rank);

  // Reads the rank's last commands and closes its connection. Returns how it broke the rules of
  // MPI, if it did. Call it when the process has been reaped.
  std::optional<MpiFault> Ended(int local_rank, const ProcessEnd& end);

  // Return what pmi::Engine says.
  bool HasJoined(int local_rank) const { return engine_ && engine_->HasJoined(local_rank); }
  bool active() const { return engine_ && engine_->active(); }
  absl::Time next_warning() const {
    return engine_ ? engine_->next_warning() : absl::InfiniteFuture();
  }
  void Warn();

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
  void CarryOut(const pmi::Effects& effects);
  void CarryOut(const pmi::Effect& effect);

  const JobPlan& plan_;
  EventLoop* const loop_;
  const Handlers handlers_;
  std::vector<Connection> connections_;  // by local rank
  std::unique_ptr<pmi::NodeExchange> exchange_;
  std::optional<pmi::Engine> engine_;  // unset before BeginWorld(), and if there is no PMI
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_SERVER_H_
