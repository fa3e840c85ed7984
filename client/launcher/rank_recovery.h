#ifndef MUSTER_CLIENT_LAUNCHER_RANK_RECOVERY_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_RECOVERY_H_

#include <list>
#include <optional>
#include <vector>

#include "client/launcher/cleanup.h"
#include "client/launcher/coordinator_link.h"
#include "client/launcher/group_restart.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/process_end.h"
#include "client/launcher/rank_reporter.h"
#include "client/launcher/rank_shutdown.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"
#include "client/launcher/run_outcome.h"

namespace muster::launcher {

// Decides what follows the end of a rank: it is started again, by itself or with all others of the
// node, or the job goes on without it, or the job has failed. Does not wait: call Step() soon again
// while looking().
class RankRecovery {
 public:
  // All pointers must outlive this object.
  RankRecovery(const JobPlan* plan, RankTable* ranks, RunOutcome* outcome, RankShutdown* shutdown,
               CoordinatorLink* link, RankStarter* starter);

  // The process of a place has ended, and has been waited for.
  void OnEnd(RankTable::Place* place, const ProcessEnd& end);
  // The coordinator has told how it takes the ends of ranks.
  void OnLosses();
  // `suspended`: nothing is started while the ranks are stopped.
  void Step(bool suspended);

  // Ranks are to be started again.
  bool pending() const { return !restarts_.empty() || group_; }
  // Processes are looked at that are not this one's children, of whose ends nobody tells.
  bool looking() const { return pending() || !cleanups_.empty(); }

 private:
  // A rank that is to be started again once what it has left behind has ended.
  struct Restart {
    RankTable::Place* place;
    RankEnd end;
    Cleanup cleanup;
  };

  void Settle(RankTable::Place* place, RankEnd end, bool may_restart_group);
  void ReportEnd(const RankTable::Place& place, const RankEnd& end, bool fatal);
  void OnEndWithoutLeave(RankEnd* end);

  // One rank.
  bool MayRestart() const;
  void BeginRestart(RankTable::Place* place, const RankEnd& end);
  bool Continue(Restart* restart);

  // All ranks of the node.
  bool MayRestartGroup() const;
  void StepGroup();
  void RestartOneByOne();
  void CancelGroup();
  void StartGroup();
  std::vector<GroupRestart::HeldEnd> TakeHeldEnds();

  // Fewer ranks.
  // Ranks that this node still has, or that have done their part.
  int Left() const;
  bool MayGoOn() const;
  void TellGoesOnWithout(const RankEnd& end);

  const JobPlan& plan_;
  RankTable* const ranks_;
  RunOutcome* const outcome_;
  RankShutdown* const shutdown_;
  CoordinatorLink* const link_;
  RankStarter* const starter_;

  std::list<Restart> restarts_;
  std::optional<GroupRestart> group_;
  std::list<Cleanup> cleanups_;  // after ranks without which the job goes on
  int restart_count_ = 0;
  bool uses_muster_ = false;  // a process of the job was seen to have joined
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_RECOVERY_H_
