#ifndef MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_
#define MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator_link.h"
#include "client/launcher/hosted_coordinator.h"
#include "client/launcher/job_store_client.h"
#include "client/launcher/mpi_server.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/process/ending_signals.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/rank_recovery.h"
#include "client/launcher/rank_shutdown.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"
#include "client/launcher/torch_server.h"

namespace muster::launcher {

// The main class of a launcher. Starts a node's ranks, and the coordinator if the plan hosts it
// here. Forwards signals to the ranks, ends them when the job has failed here or elsewhere, and
// leaves no process behind. Runs in its own process, which must be a subreaper without other
// children.
//
//   Supervisor supervisor(plan, &starter, &loop, control_fd);
//   absl::Status started = supervisor.Run();  // blocks until all ranks have ended
//   int status = supervisor.outcome().ExitStatus();
//
// Supervisor waits for events and passes each to its part:
//   RankTable          the processes of the ranks
//   RankRecovery       what happens when a rank ends
//   RankShutdown       the end of the run
//   HostedCoordinator  the coordinator's process
//   MpiServer          the ranks of MPI programs
//   TorchServer        the store of PyTorch programs
//   JobStoreClient     the connection of both to the job's store
//   CoordinatorLink    calls to the coordinator
//
// Nothing here links the SDK but the store's client, since a launcher has no rank. RankStarter, the
// interface to the callers, is implemented in client/cli (muster run) and client/launch
// (muster::Launch). Tests: tests/client/launcher, and tests/client/cli for whole runs.
class Supervisor {
 public:
  // Each byte from `control_fd` is a signal for the ranks (signal_relay.h). End of file means that
  // the launcher has died; then this process kills all its descendants and exits. `starter` and
  // `loop` must outlive this object.
  Supervisor(JobPlan plan, RankStarter* starter, EventLoop* loop, int control_fd);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Blocks until every rank has ended, and every other descendant that can be ended. An error is a
  // text for the user about what could not be started. CANCELLED means that a signal came before
  // the first rank was started.
  absl::Status Run();

  // Returns how the ranks ended.
  const RunOutcome& outcome() const { return outcome_; }
  // Returns why a coordinator that died while it was needed was not restarted, else OK.
  const absl::Status& coordinator_status() const { return coordinator_.status(); }

  // Ends the ranks, as SIGPIPE would, because the output has lost its reader. `lost` means that
  // text already written was lost too. Call it only from a handler of the loop.
  void OnReaderGone(bool lost) { shutdown_.OnReaderGone(lost); }

  // Return the number of ending signals so far, and the first of them.
  int ending_signals() const { return signals_.count(); }
  std::optional<int> first_ending_signal() const { return signals_.first(); }

 private:
  absl::Status Start();
  // Waits for events once, and does what is due.
  void Step();
  // Returns whether ranks are alive, or about to be restarted.
  bool Active() const { return !ranks_.Living().empty() || recovery_.pending(); }
  bool CoordinatorIsNeeded() const { return Active() && shutdown_.running(); }
  // Returns when the coordinator is due to be restarted. Never while the ranks are stopped.
  absl::Time CoordinatorStart() const;

  // Events.
  void OnControl();
  void OnSignal(int signal);
  void OnEndingSignal(int signal);
  void Suspend();
  void Resume();
  void OnChildren();
  void OnStopped(pid_t pid, bool stopped);
  void OnEnd(pid_t pid, int wait_status);
  void OnCoordinatorGivenUp(const ProcessEnd& end);
  void OnJobFailed(const std::string& reason);
  void OnWorldEnded(const pmi::WorldEnd& end);
  void OnExpelled(int local_rank);

  // The end of the run. AwaitBundle() blocks until a bundle about a hang is in --debug-dir, unless
  // the user wants to leave.
  void AwaitBundle();
  void EndLeftovers();
  void StopCoordinator();

  void Say(const std::string& text) { starter_->Say(text); }

  JobPlan plan_;  // with the ports, once they are known
  RankStarter* const starter_;
  EventLoop* const loop_;
  const int control_fd_;
  const std::string node_;  // for messages
  int child_signal_fd_ = -1;
  EndingSignals signals_;
  bool suspended_ = false;

  HostedCoordinator coordinator_;
  JobStoreClient store_;
  const std::unique_ptr<MpiServer> mpi_;
  TorchServer torch_;
  RankTable ranks_;
  RunOutcome outcome_;
  RankShutdown shutdown_;
  CoordinatorLink link_;
  RankRecovery recovery_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_
