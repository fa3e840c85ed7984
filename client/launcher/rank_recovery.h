#ifndef MUSTER_CLIENT_LAUNCHER_RANK_RECOVERY_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_RECOVERY_H_

#include <list>
#include <optional>
#include <vector>

#include "client/launcher/coordinator/rank_reporter.h"
#include "client/launcher/coordinator_link.h"
#include "client/launcher/group_restart.h"
#include "client/launcher/mpi_server.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/process/cleanup.h"
#include "client/launcher/rank_shutdown.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"

namespace muster::launcher {

// Decides what happens when a rank ends:
//   * the rank is restarted on its own (Restart), or
//   * all ranks of the node are restarted (GroupRestart), or
//   * the job continues with fewer ranks, or
//   * the job has failed, and RankShutdown ends the other ranks.
// Does not block: while polling(), call Step() every few milliseconds.
class RankRecovery {
 public:
  // All pointers must outlive this object.
  RankRecovery(const JobPlan* plan, RankTable* ranks, RunOutcome* outcome, RankShutdown* shutdown,
               CoordinatorLink* link, MpiServer* mpi, RankStarter* starter);

  // Handles the end of a rank's process, which has been reaped.
  void OnEnd(RankTable::Place* place, const ProcessEnd& end);
  // Handles that ranks wait in MPI for this rank, whose process has ended with status 0.
  void OnMpiFault(int local_rank, const MpiFault& fault);
  // Handles that all ranks of an MPI world are started again, for this reason on another node.
  // Returns false if those of this node are not.
  bool OnWorldRestart(const std::string& why);
  // Handles new losses that the coordinator has reported.
  void OnLosses();
  // Advances restarts and cleanups. `suspended` means that the ranks are stopped; then nothing is
  // started.
  void Step(bool suspended);

  // Returns whether ranks are about to be restarted.
  bool pending() const { return !restarts_.empty() || group_; }
  // Returns whether this object waits for processes that are not children of this one, so that no
  // signal announces their end.
  bool polling() const { return pending() || !cleanups_.empty(); }

 private:
  // A rank that is restarted once the processes that it left behind have ended.
  struct Restart {
    RankTable::Place* place;
    RankEnd end;
    Cleanup cleanup;
  };

  void Settle(RankTable::Place* place, RankEnd end, bool may_restart_group);
  void ReportEnd(const RankTable::Place& place, const RankEnd& end, bool fatal);
  void OnEndWithoutLeave(RankEnd* end);
  // Tells the other nodes of an MPI world that it has ended here, because of this rank.
  void EndMpiWorld(const RankEnd& end);

  // Restart of one rank.
  bool MayRestart(const RankTable::Place& place) const;
  void BeginRestart(RankTable::Place* place, const RankEnd& end);
  bool Continue(Restart* restart);

  // Restart of all ranks of the node.
  bool MayRestartGroup() const;
  void StepGroup();
  void RestartOneByOne();
  void CancelGroup();
  void StartGroup();
  std::vector<GroupRestart::HeldEnd> TakeHeldEnds();

  // Fewer ranks. RanksLeft() returns how many ranks this node still has, including those that ended
  // well.
  int RanksLeft() const;
  bool MayContinue() const;
  void AnnounceLostRank(const RankEnd& end);

  const JobPlan& plan_;
  RankTable* const ranks_;
  RunOutcome* const outcome_;
  RankShutdown* const shutdown_;
  CoordinatorLink* const link_;
  MpiServer* const mpi_;
  RankStarter* const starter_;

  std::list<Restart> restarts_;
  std::optional<GroupRestart> group_;
  std::list<Cleanup> cleanups_;  // of ranks that the job continues without
  int restart_count_ = 0;
  bool uses_muster_ = false;  // a process was seen to have joined the job
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_RECOVERY_H_
