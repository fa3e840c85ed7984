#ifndef MUSTER_CLIENT_LAUNCHER_RANK_SHUTDOWN_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_SHUTDOWN_H_

#include <algorithm>
#include <string>

#include "absl/time/time.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"

namespace muster::launcher {

// Ends the ranks when the run is over: the job has failed, the user wants to leave, or the output
// has lost its reader. Escalates from SIGTERM to SIGKILL to a last message, and tells the user of
// each phase. Does not block: call Step() when next() is due.
class RankShutdown {
 public:
  // All pointers must outlive this object.
  RankShutdown(const JobPlan* plan, RankTable* ranks, RunOutcome* outcome, RankStarter* starter)
      : plan_(*plan), ranks_(ranks), outcome_(outcome), starter_(starter) {}

  // Returns whether the run is not over yet.
  bool running() const { return phase_ == Phase::kRunning; }
  // Returns whether the ranks have been sent a signal to end.
  bool signalled() const { return phase_ >= Phase::kSignalled; }
  // Returns whether the ranks have been sent SIGKILL.
  bool killed() const { return phase_ >= Phase::kKilled; }

  // Begins the end of a failed job. `what` is the failure, for the user. The ranks get
  // JobPlan::failure_wait, or `wait`, to report why they cannot continue.
  void BeginFailure(const std::string& what) { BeginFailure(what, plan_.failure_wait); }
  void BeginFailure(const std::string& what, absl::Duration wait);
  // Forwards the user's signal to the ranks; from the second signal on, sends SIGKILL. `count` is
  // the number of such signals so far.
  void OnEndingSignal(int signal, int count);
  // Ends the ranks because the output has lost its reader. `lost` means that text already written
  // was lost too.
  void OnReaderGone(bool lost);
  // Notes that the run failed before all ranks were started.
  void OnNotStarted() { phase_ = Phase::kSignalled; }
  // Notes that some ranks have survived SIGKILL.
  void OnKillOutlived() { Enter(Phase::kKilled, absl::ZeroDuration()); }

  // Returns when Step() is due.
  absl::Time next() const { return std::min(deadline_, announce_failure_at_); }
  void Step();

 private:
  //   kRunning --failure--> kFailed --failure_wait--> kSignalled --grace--> kKilled --> kUnkillable
  //
  // Each phase but the first and the last ends at a deadline, and the next one begins. A signal of
  // the user skips kFailed, and a second one goes to kKilled.
  enum class Phase {
    kRunning,
    kFailed,  // a rank has failed; the others may report why they cannot continue
    kSignalled,
    kKilled,
    kUnkillable,  // and the user was told
  };

  void Enter(Phase phase, absl::Duration from_now);
  void Escalate();
  // Tells the user why the other ranks are ended, unless they have ended on their own.
  void AnnounceFailure();

  const JobPlan& plan_;
  RankTable* const ranks_;
  RunOutcome* const outcome_;
  RankStarter* const starter_;
  Phase phase_ = Phase::kRunning;
  absl::Time deadline_ = absl::InfiniteFuture();
  absl::Duration failure_wait_;
  std::string failure_;  // the message about the failure, and when it is due
  absl::Time announce_failure_at_ = absl::InfiniteFuture();
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_SHUTDOWN_H_
