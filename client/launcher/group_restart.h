#ifndef MUSTER_CLIENT_LAUNCHER_GROUP_RESTART_H_
#define MUSTER_CLIENT_LAUNCHER_GROUP_RESTART_H_

#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/cleanup.h"
#include "client/launcher/coordinator_link.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"
#include "client/launcher/run_outcome.h"

namespace muster::launcher {

// Clears the node after the failure of a rank, so that all its ranks can be started again. First it
// may have to be found out whether the job uses Muster, and so needs no such restart; then the
// others end; then what all have left behind. Does not wait: call Step() until it says what next.
class GroupRestart {
 public:
  // A rank that has ended while the restart is under way.
  struct HeldEnd {
    RankTable::Place* place;
    RankEnd end;
  };
  enum class Next {
    kStep,         // again, soon
    kOneByOne,     // the job uses Muster, or nobody can tell: restart each rank by itself
    kStartAll,     // the node is clear
    kOutlivedKill  // ranks did not end on SIGKILL
  };

  // `failure` is the one for which they are restarted. All pointers must outlive this object.
  GroupRestart(const JobPlan* plan, RankTable* ranks, CoordinatorLink* link,
               const RunOutcome* outcome, RankStarter* starter, HeldEnd failure);

  // Another rank has ended.
  void Hold(const HeldEnd& end);
  Next Step();

  // The ranks are being ended, and their ends have been reported.
  bool ending() const { return ending_; }
  // Of the failure, and of those that were held since.
  const std::vector<HeldEnd>& ends() const { return ends_; }

 private:
  void Report(const HeldEnd& held) { link_->ReportEnd(*held.place, held.end, /*given_up=*/""); }
  void EndOthers();
  Next Hurry(const std::vector<int>& living);

  const JobPlan& plan_;
  RankTable* const ranks_;
  CoordinatorLink* const link_;
  const RunOutcome& outcome_;
  RankStarter* const starter_;
  const bool asks_;
  std::vector<HeldEnd> ends_;  // the failure first
  absl::Time deadline_;        // of the question; once `ending_`, of that
  bool ending_ = false;
  bool killed_ = false;
  std::optional<Cleanup> cleanup_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_GROUP_RESTART_H_
