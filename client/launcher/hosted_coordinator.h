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
#include "client/launcher/coordinator_process.h"
#include "client/launcher/ending_signals.h"
#include "client/launcher/event_loop.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/process_end.h"
#include "client/launcher/rank_starter.h"

namespace muster::launcher {

// Hosts the job's coordinator where the plan says so: starts it, starts it again when it ends while
// the ranks need it, and stops it. Where another node hosts it there is no process, and nothing
// ever happens here.
class HostedCoordinator {
 public:
  // It has ended like this, and is not started again: status() says why.
  using OnGivenUp = std::function<void(const ProcessEnd& end)>;

  // All pointers must outlive this object.
  HostedCoordinator(RankStarter* starter, EventLoop* loop, const EndingSignals* signals,
                    OnGivenUp on_given_up);

  // Blocks until the coordinator listens, and writes into the plan where, and with which
  // credentials. An error says, for the user, why it does not; CANCELLED: a signal came.
  absl::Status Start(JobPlan* plan);

  // -1: it is not hosted here.
  pid_t pid() const { return process_ == nullptr ? -1 : process_->pid(); }
  // It is hosted here and has not ended.
  bool running() const { return process_ != nullptr && !end_; }
  // Why it, which had ended while it was needed, was not started again; OK unless that is so.
  const absl::Status& status() const { return status_; }

  // Its process has ended and been waited for. `needed`: starts it again, at once or after a pause,
  // or gives it up.
  void OnEnd(const ProcessEnd& end, bool needed);
  // When StartAgain() is due, after such a pause.
  absl::Time next_start() const { return next_start_; }
  void StartAgain();

  // Signals its process where it is running.
  void Signal(int signal) const;

  // Blocks until it has ended, the user wants to leave, or `patience` has passed.
  void AwaitEnd(absl::Duration patience);
  // SIGTERM, at which it delivers the answers that it owes, then SIGKILL. Blocks until it has
  // ended, or does not.
  void Stop();
  // Removes its directory; the process is nobody's matter any more.
  void Abandon() { process_.reset(); }

 private:
  absl::StatusOr<HostPort> AwaitAddress(const CoordinatorCommand& command);
  // `what` begins messages, here and below.
  void Restart(const std::string& what);
  void GiveUp(const std::string& what);
  std::string HowItEnded() const;

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
