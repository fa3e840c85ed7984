#ifndef MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_
#define MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator_link.h"
#include "client/launcher/ending_signals.h"
#include "client/launcher/event_loop.h"
#include "client/launcher/hosted_coordinator.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/process_end.h"
#include "client/launcher/rank_recovery.h"
#include "client/launcher/rank_shutdown.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"
#include "client/launcher/run_outcome.h"

namespace muster::launcher {

// Starts a node's ranks (and hosts the coordinator where the plan says so), passes signals on to
// them, ends them when the job has failed here or elsewhere, and leaves no process behind. Runs in
// a process of its own, which must be a subreaper without other children.
//
// Waits for events, and brings each to the part that it is for: the processes of the ranks
// (RankTable), what follows their ends (RankRecovery), the end of the run (RankShutdown), the
// coordinator's process (HostedCoordinator), and what is said to the coordinator
// (CoordinatorLink).
class Supervisor {
 public:
  // Each byte that comes from `control_fd` is a signal for the ranks (signal_relay.h); its end
  // means that the launcher has died, and then this process ends, with all its descendants.
  // `starter` and `loop` must outlive this object.
  Supervisor(JobPlan plan, RankStarter* starter, EventLoop* loop, int control_fd);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Blocks until every rank has ended; no descendant is left then that could be ended. An error
  // says, for the user, what could not be started; CANCELLED: a signal came before any rank was.
  absl::Status Run();

  // How the ranks have ended.
  const RunOutcome& outcome() const { return outcome_; }
  // Why the coordinator, which had died while it was needed, was not started again.
  const absl::Status& coordinator_status() const { return coordinator_.status(); }

  // Nobody reads what the ranks write: ends them, as SIGPIPE does. `lost`: nor what they have
  // written already. Only from within the loop.
  void OnReaderGone(bool lost) { shutdown_.OnReaderGone(lost); }

  // How many signals that should end the run have come, and the first.
  int ending_signals() const { return signals_.count(); }
  std::optional<int> first_ending_signal() const { return signals_.first(); }

 private:
  absl::Status Start();
  // One wait for events, and what has to follow.
  void Step();
  // Ranks live, or are to be started again.
  bool Active() const { return !ranks_.Living().empty() || recovery_.pending(); }
  bool CoordinatorIsNeeded() const { return Active() && shutdown_.running(); }
  // When the coordinator is to be started again: never while the ranks are stopped.
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

  // Ending.
  // Until what was found of a hang is in --debug-dir; not where the user wants to leave.
  void AwaitBundle();
  void EndLeftovers();
  void StopCoordinator();

  void Say(const std::string& text) { starter_->Say(text); }

  JobPlan plan_;  // with the ports, once these are known
  RankStarter* const starter_;
  EventLoop* const loop_;
  const int control_fd_;
  const std::string node_;  // for messages
  int child_signal_fd_ = -1;
  EndingSignals signals_;
  bool suspended_ = false;

  HostedCoordinator coordinator_;
  RankTable ranks_;
  RunOutcome outcome_;
  RankShutdown shutdown_;
  CoordinatorLink link_;
  RankRecovery recovery_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_
