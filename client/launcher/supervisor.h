#ifndef MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_
#define MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/cleanup.h"
#include "client/launcher/client_group.h"
#include "client/launcher/coordinator_process.h"
#include "client/launcher/event_loop.h"
#include "client/launcher/inquiry_responder.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/job_watch.h"
#include "client/launcher/muster_use.h"
#include "client/launcher/rank_reporter.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"
#include "client/launcher/run_outcome.h"

namespace muster::launcher {

// Starts a node's ranks (and hosts the coordinator where the plan says so), passes signals on to
// them, ends them when the job has failed here or elsewhere, and leaves no process behind. Runs in
// a process of its own, which must be a subreaper without other children.
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
  const absl::Status& coordinator_status() const { return coordinator_status_; }

  // Nobody reads what the ranks write: ends them, as SIGPIPE does. `lost`: nor what they have
  // written already. Only from within the loop.
  void OnReaderGone(bool lost);

  // How many signals that should end the run have come, and the first.
  int ending_signals() const { return ending_signals_; }
  std::optional<int> first_ending_signal() const { return first_ending_signal_; }

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
  // A rank that is to be started again once what it has left behind has ended.
  struct Restart {
    RankTable::Place* place;
    RankEnd end;
    Cleanup cleanup;
  };

  // A rank that has ended while a restart of all of them is under way.
  struct HeldEnd {
    RankTable::Place* place;
    RankEnd end;
  };
  // Of all ranks of the node. First it may have to be found out whether the job uses Muster, and so
  // needs no such restart; then the others end; then what all have left behind.
  struct GroupRestart {
    std::vector<HeldEnd> ends;       // the first is the failure for which they are restarted
    std::unique_ptr<MusterUse> use;  // null: nobody needs to ask
    bool ending = false;
    bool killed = false;
    absl::Time deadline;  // of the question; once `ending`, of that
    std::optional<Cleanup> cleanup;
  };

  // Starting.
  absl::Status StartRanks();
  void Listen();

  // One wait for events, and what has to follow.
  void Step();
  void Enter(Phase phase, absl::Duration from_now);
  void Escalate();
  bool Active() const { return !ranks_.Living().empty() || !restarts_.empty() || group_; }

  // Events.
  void OnControl();
  void OnSignal(int signal);
  void OnEndingSignal(int signal);
  void Suspend();
  void Resume();
  void OnChildren();
  void OnStopped(pid_t pid, bool stopped);
  void OnEnd(pid_t pid, int wait_status);
  void OnRankEnd(RankTable::Place* place, const ProcessEnd& end);
  void Settle(RankTable::Place* place, RankEnd rank_end, bool may_restart_group);
  void ReportEnd(const RankTable::Place& place, const RankEnd& end, bool fatal);
  void OnJobFailed();
  // The coordinator has told how it takes the ends of ranks.
  void OnLosses();
  void OnEndWithoutLeave(RankEnd* end);
  // The ranks that live have changed.
  // To the coordinator, which may count on the process then.
  void TellOfStart(const RankTable::Place& place);
  void TellResponder();

  void BeginFailure(const std::string& what);
  // Says why the others are ended, unless they have ended by themselves.
  void TellFailure();

  // Failed ranks: supervisor_restarts.cc.
  void StepRestarts();
  bool Continue(Restart* restart);
  bool MayRestart() const;
  void BeginRestart(RankTable::Place* place, const RankEnd& end);
  Cleanup CleanupAfter(RankTable::Place* place);
  bool MayRestartGroup() const;
  void BeginGroupRestart(RankTable::Place* place, const RankEnd& end);
  void StepGroupRestart();
  void RestartOneByOne();
  std::vector<HeldEnd> TakeHeldEnds();
  void CancelGroupRestart();
  void EndGroup();
  void HurryGroup(const std::vector<int>& living);
  void StartGroup();
  // Ranks that this node still has, or that have done their part.
  int Left() const;
  bool MayGoOn() const;
  void GoOnWithout(RankTable::Place* place, const RankEnd& end);

  // Ending: supervisor_end.cc.
  // Until what was found of a hang is in --debug-dir; not where the user wants to leave.
  void AwaitBundle();
  void EndLeftovers();
  Leftovers AllButTheCoordinator() const;

  // The coordinator: supervisor_coordinator.cc.
  absl::Status StartCoordinator();
  absl::Status AwaitCoordinator();
  // -1: there is none here.
  pid_t CoordinatorPid() const { return coordinator_ == nullptr ? -1 : coordinator_->pid(); }
  void OnCoordinatorEnd(const ProcessEnd& end);
  std::string HowCoordinatorEnded() const;
  // It is down: starts it again, at once or after a pause, or gives it up. `what` begins messages.
  void RestartCoordinator(const std::string& what);
  void StartCoordinatorAgain();
  // When to do that: never while the ranks are stopped.
  absl::Time CoordinatorStart() const {
    return suspended_ ? absl::InfiniteFuture() : coordinator_start_;
  }
  void GiveCoordinatorUp(const std::string& what);
  void StopCoordinator();
  // Closes the launcher's connections to the coordinator, which would wait for them in its drain.
  // Nothing is asked or told any more. Blocks until they are closed, or `patience` has passed.
  void HangUp(absl::Duration patience);
  // Until the coordinator has ended, the user wants to leave, or `patience` has passed.
  void AwaitCoordinatorEnd(absl::Duration patience);

  void Say(const std::string& text) { starter_->Say(text); }

  JobPlan plan_;
  RankStarter* const starter_;
  EventLoop* const loop_;
  const int control_fd_;
  const std::string node_;  // for messages
  int child_signal_fd_ = -1;

  std::unique_ptr<CoordinatorProcess> coordinator_;  // where it is hosted here
  std::optional<ProcessEnd> coordinator_end_;
  absl::Time coordinator_start_ = absl::InfiniteFuture();  // of another one, after a pause
  absl::Status coordinator_status_;
  RankTable ranks_;
  // Of the three below, which have threads: made when no rank is forked any more that does not
  // execute a program.
  const std::shared_ptr<ClientGroup> clients_ = std::make_shared<ClientGroup>();
  std::unique_ptr<RankReporter> reporter_;
  std::unique_ptr<JobWatch> watch_;
  std::unique_ptr<InquiryResponder> responder_;

  std::list<Restart> restarts_;
  std::list<Cleanup> cleanups_;  // after ranks without which the job goes on
  std::optional<GroupRestart> group_;
  int restart_count_ = 0;
  bool uses_muster_ = false;         // a process of the job was seen to have joined
  absl::Time ranks_started_;         // the first of them
  bool picked_master_port_ = false;  // the launcher has, not the user
  RunOutcome outcome_;
  bool gave_up_ = false;  // the coordinator was told that the ranks here will not join
  std::string why_;       // what has happened elsewhere, for which the ranks here were ended

  Phase phase_ = Phase::kRunning;
  absl::Time deadline_ = absl::InfiniteFuture();
  std::string failure_;  // what is to be told of it, and when
  absl::Time tell_failure_ = absl::InfiniteFuture();
  bool suspended_ = false;
  int ending_signals_ = 0;
  std::optional<int> first_ending_signal_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_SUPERVISOR_H_
