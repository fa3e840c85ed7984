#ifndef MUSTER_CLIENT_LAUNCHER_HOSTED_COORDINATOR_H_
#define MUSTER_CLIENT_LAUNCHER_HOSTED_COORDINATOR_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/plan/coordinator_process.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/process/ending_signals.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/rank_starter.h"

namespace muster::launcher {

// The job's coordinator, if the plan says that this node hosts it. Starts it, restarts it when it
// ends while the ranks need it, and stops it. If another node hosts the coordinator, every call
// does nothing.
class HostedCoordinator {
 public:
  // Called when the coordinator has ended with `end` and is not restarted. status() says why.
  using OnGivenUp = std::function<void(const ProcessEnd& end)>;

  // All pointers must outlive this object.
  HostedCoordinator(RankStarter* starter, EventLoop* loop, const EndingSignals* signals,
                    OnGivenUp on_given_up);

  // Blocks until the coordinator listens. Writes its address and credentials into the plan. An
  // error is a text for the user; CANCELLED means that a signal came.
  absl::Status Start(JobPlan* plan);

  // Returns -1 if the coordinator is not hosted here.
  pid_t pid() const { return process_ == nullptr ? -1 : process_->pid(); }
  // Returns whether the coordinator is hosted here and has not ended.
  bool running() const { return process_ != nullptr && !end_; }
  // Returns why a coordinator that was still needed was not restarted, else OK.
  const absl::Status& status() const { return status_; }

  // Handles the end of the process, which has been reaped. If `needed`, restarts it, now or after a
  // pause, or gives up.
  void OnEnd(const ProcessEnd& end, bool needed);
  // Returns when StartAgain() is due after such a pause, else infinite future.
  absl::Time next_start() const { return next_start_; }
  void StartAgain();

  // Sends a signal to the process, if it is running.
  void Signal(int signal) const;

  // Blocks until it has ended, an ending signal comes, or `patience` has passed.
  void AwaitEnd(absl::Duration patience);
  // Sends SIGTERM, so that the coordinator delivers the answers that it owes, then SIGKILL. Blocks
  // until it has ended, or survives SIGKILL for some seconds.
  void Stop();
  // Removes the coordinator's directory and forgets the process.
  void Abandon() { process_.reset(); }

 private:
  absl::StatusOr<HostPort> AwaitAddress(const CoordinatorCommand& command);
  // `what` is the start of a message to the user, here and below.
  void Restart(const std::string& what);
  void GiveUp(const std::string& what);
  std::string DescribeEnd() const;

  RankStarter* const starter_;
  EventLoop* const loop_;
  const EndingSignals& signals_;
  const OnGivenUp on_given_up_;
  std::unique_ptr<CoordinatorProcess> process_;
  std::optional<ProcessEnd> end_;  // unset while it runs
  absl::Time next_start_ = absl::InfiniteFuture();
  absl::Status status_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_HOSTED_COORDINATOR_H_
