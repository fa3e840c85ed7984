#ifndef MUSTER_CLIENT_CLI_SUPERVISOR_H_
#define MUSTER_CLIENT_CLI_SUPERVISOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cli/coordinator_process.h"
#include "client/cli/event_loop.h"
#include "client/cli/launch_plan.h"
#include "client/cli/output.h"
#include "client/cli/rank_processes.h"
#include "client/cli/rank_reporter.h"
#include "client/cli/run_outcome.h"

namespace muster::cli {

// Starts a node's ranks (and, standalone, a coordinator), carries their output and signals, and
// leaves no process behind. Runs in a process of its own (launcher.h), which must be a subreaper
// and have no other children.
class Supervisor {
 public:
  // `program` is the file that the ranks execute; `musterd` is not used where the plan names a
  // coordinator. Each byte that comes from `control_fd` is a signal for the ranks; its end means
  // that the launcher has died, and then this process ends, with all its descendants.
  Supervisor(LaunchPlan plan, std::string program, std::string musterd, int control_fd);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Blocks until every rank has ended and all output is written; no descendant is left then.
  // Returns the exit status of `muster run`.
  int Run();

 private:
  // What is done to the ranks; each phase but the first and the last ends at a deadline, with the
  // next.
  enum class Phase {
    kRunning,
    kFailed,      // a rank has failed; the others may say why they cannot go on
    kSignalled,   // the ranks have got a signal that should end them
    kKilled,      // SIGKILL
    kStillThere,  // and that was said
  };

  // Starting. Errors end the run; the text is for the user.
  absl::Status StartCoordinator();
  absl::Status AwaitCoordinator();
  absl::Status StartRanks();

  // One wait for events, and what has to follow at a deadline.
  void Step();
  void SetDeadline(absl::Duration from_now);
  void Escalate();

  // Events.
  void OnReaderGone();
  void OnControl();
  void OnUserSignal(int signal);
  void OnRepeatedSignal(int signal);
  void OnChildren();
  void OnStopped(pid_t pid, bool stopped);
  void OnEnd(pid_t pid, int wait_status);
  void OnRankEnd(RankProcesses::Process* process, const ProcessEnd& end);
  bool Forgive(const RankProcesses::Process& process, const RankEnd& end);
  bool Restart(const RankProcesses::Process& process, const RankEnd& end);
  void OnCoordinatorEnd(const ProcessEnd& end);
  void RestartCoordinator(const std::string& what);

  void BeginFailure(const std::string& what);
  // Both return when they have nothing left to do; AwaitOutput() also when the user wants to leave.
  void Finish();
  void AwaitOutput();
  bool OutputWritten();

  const LaunchPlan plan_;
  const std::string musterd_;
  const int control_fd_;
  const std::string node_;  // for messages

  EventLoop loop_;
  Output output_;
  int child_signal_fd_ = -1;
  std::unique_ptr<CoordinatorProcess> own_coordinator_;
  std::optional<ProcessEnd> own_coordinator_end_;
  HostPort coordinator_;
  std::unique_ptr<RankReporter> reporter_;
  RankProcesses ranks_;
  int restarts_ = 0;
  RunOutcome outcome_;

  Phase phase_ = Phase::kRunning;
  absl::Time deadline_ = absl::InfiniteFuture();
  size_t log_bytes_left_ = 0;       // at the end of the run: what is still to be written, ...
  absl::Time log_deadline_;         // ... and until when some of that must have been
  int user_signals_ = 0;            // how many have come
  std::optional<int> user_signal_;  // the first
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_SUPERVISOR_H_
