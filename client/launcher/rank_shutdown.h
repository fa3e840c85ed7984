#ifndef MUSTER_CLIENT_LAUNCHER_RANK_SHUTDOWN_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_SHUTDOWN_H_

#include <algorithm>
#include <string>

#include "absl/time/time.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"
#include "client/launcher/run_outcome.h"

namespace muster::launcher {

// Ends the ranks once the run is over: the job has failed, the user wants to leave, or nobody reads
// the output. Goes from phase to phase, SIGTERM, SIGKILL and a message at last, and tells the user
// of each. Does not wait: call Step() when it is due.
class RankShutdown {
 public:
  // All pointers must outlive this object.
  RankShutdown(const JobPlan* plan, RankTable* ranks, RunOutcome* outcome, RankStarter* starter)
      : plan_(*plan), ranks_(ranks), outcome_(outcome), starter_(starter) {}

  // The run is not over.
  bool running() const { return phase_ == Phase::kRunning; }
  // The ranks have got a signal that should end them.
  bool signalled() const { return phase_ >= Phase::kSignalled; }
  // The ranks have got SIGKILL.
  bool killed() const { return phase_ >= Phase::kKilled; }

  // The job has failed, as `what` says. The ranks have JobPlan::failure_wait to say why they cannot
  // go on.
  void BeginFailure(const std::string& what);
  // Passes a signal of the user's on to the ranks; from the second one on it is SIGKILL. `count`:
  // how many such signals have come.
  void OnEndingSignal(int signal, int count);
  // Nobody reads what the ranks write. `lost`: nor what they have written already.
  void OnReaderGone(bool lost);
  // The run has failed before all ranks were started.
  void OnNotStarted() { phase_ = Phase::kSignalled; }
  // Ranks live that have got SIGKILL long ago.
  void OnKillOutlived() { Enter(Phase::kKilled, absl::ZeroDuration()); }

  // When Step() is due.
  absl::Time next() const { return std::min(deadline_, tell_failure_); }
  void Step();

 private:
  // Each phase but the first and the last ends at a deadline, with the next.
  enum class Phase {
    kRunning,
    kFailed,  // a rank has failed; the others may say why they cannot go on
    kSignalled,
    kKilled,
    kStillThere,  // and that was said
  };

  void Enter(Phase phase, absl::Duration from_now);
  void Escalate();
  // Says why the others are ended, unless they have ended by themselves.
  void TellFailure();

  const JobPlan& plan_;
  RankTable* const ranks_;
  RunOutcome* const outcome_;
  RankStarter* const starter_;
  Phase phase_ = Phase::kRunning;
  absl::Time deadline_ = absl::InfiniteFuture();
  std::string failure_;  // what is to be told of it, and when
  absl::Time tell_failure_ = absl::InfiniteFuture();
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_SHUTDOWN_H_
