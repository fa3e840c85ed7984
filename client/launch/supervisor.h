#ifndef MUSTER_CLIENT_LAUNCH_SUPERVISOR_H_
#define MUSTER_CLIENT_LAUNCH_SUPERVISOR_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/coordinator_process.h"
#include "client/cli/event_loop.h"
#include "client/cli/process_end.h"
#include "client/cli/rank_reporter.h"
#include "client/launch/placed_process.h"
#include "muster/launch.h"

namespace muster::internal {

// What Launch() is going to do, checked and complete.
struct LaunchPlan {
  JobPlaces places;  // without the coordinator's port where that is to be found out
  std::optional<cli::CoordinatorCommand> coordinator;  // to be hosted here
  std::function<absl::Status(int local_rank)> body;
  absl::Duration failure_wait;
  absl::Duration grace;
};

// Starts the processes of one machine (and, on machine 0, the coordinator), waits for them, and
// leaves none behind. Runs in a process of its own, which must be a subreaper without children and
// have SIGCHLD blocked.
class Supervisor {
 public:
  // Each byte that comes from `control_fd` is a signal for the processes; its end means that the
  // program has died, and then this process ends, with all its descendants. `own_fds` are closed in
  // the processes.
  Supervisor(LaunchPlan plan, int control_fd, std::vector<int> own_fds);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Blocks until all have ended; no descendant is left then.
  absl::StatusOr<LaunchResult> Run();

 private:
  // What is done to the processes; each phase but the first and the last ends at a deadline, with
  // the next.
  enum class Phase { kRunning, kFailed, kSignalled, kKilled };

  absl::Status StartCoordinator();
  absl::Status AwaitCoordinator();
  absl::Status StartProcesses();
  void Step();
  void Escalate();
  void Enter(Phase phase, absl::Duration from_now);

  void OnControl();
  void OnUserSignal(int signal);
  void OnChildren();
  void OnStopped(pid_t pid, bool stopped);
  void OnEnd(pid_t pid, int wait_status);
  void OnCoordinatorEnd(const cli::ProcessEnd& end);
  void OnProcessEnd(size_t local_rank, const cli::ProcessEnd& end);

  void SignalAll(int signal);
  bool AllEnded() const;

  LaunchPlan plan_;
  const int control_fd_;
  const std::vector<int> own_fds_;
  const int child_signal_fd_;
  cli::EventLoop loop_;
  std::unique_ptr<cli::CoordinatorProcess> coordinator_;
  bool coordinator_ended_ = false;
  std::unique_ptr<cli::RankReporter>
      reporter_;                      // has threads: made when nothing is forked any more
  std::vector<ForkedProcess> forks_;  // by local rank; a pid of -1 has ended
  LaunchResult result_;
  Phase phase_ = Phase::kRunning;
  absl::Time deadline_ = absl::InfiniteFuture();
  std::optional<int> user_signal_;  // the first
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_SUPERVISOR_H_
