#ifndef MUSTER_CLIENT_LAUNCHER_GROUP_RESTART_H_
#define MUSTER_CLIENT_LAUNCHER_GROUP_RESTART_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/coordinator_link.h"
#include "client/launcher/mpi_server.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/process/cleanup.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/rank_table.h"

namespace muster::launcher {

// Clears the node after a rank has failed, here or on another node of an MPI world, so that all its
// ranks can be restarted. There are three steps:
//   1. With RestartScope::kAuto, ask whether the job uses Muster. If it does, return kOneByOne. If
//      the failure was on another node, its launcher has asked.
//   2. Tell the other nodes of an MPI world. End the other ranks: SIGTERM, then SIGKILL after the
//      grace period.
//   3. End the processes that all these ranks left behind.
// Does not block: call Step() until it returns something other than kStep.
class GroupRestart {
 public:
  // A rank that ended while the restart was under way.
  struct HeldEnd {
    RankTable::Place* place;
    RankEnd end;
  };
  enum class Next {
    kStep,      // call Step() again soon
    kOneByOne,  // the job uses Muster, or the coordinator cannot tell: restart each rank on its own
    kStartAll,  // the node is clear
    kOutlivedKill  // some ranks survived SIGKILL
  };

  // `cause` is a sentence about the failure; unset `failure`: it was on another node. All pointers
  // must outlive this object.
  GroupRestart(const JobPlan* plan, RankTable* ranks, CoordinatorLink* link, MpiServer* mpi,
               std::string cause, RankStarter* starter, std::optional<HeldEnd> failure);

  // Adds the end of another rank.
  void Hold(const HeldEnd& end);
  Next Step();

  // Returns whether step 2 has begun. From then on, each end has been reported to the coordinator.
  bool ending() const { return ending_; }
  const std::string& cause() const { return cause_; }
  bool failed_here() const { return failed_here_; }
  // Returns the failure, if it was here, followed by the ends that were held since.
  const std::vector<HeldEnd>& ends() const { return ends_; }

 private:
  void Report(const HeldEnd& held) { link_->ReportEnd(*held.place, held.end, /*given_up=*/""); }
  void EndOthers();
  Next Escalate(const std::vector<int>& living);

  const JobPlan& plan_;
  RankTable* const ranks_;
  CoordinatorLink* const link_;
  MpiServer* const mpi_;
  const std::string cause_;
  RankStarter* const starter_;
  const bool failed_here_;
  const bool queries_muster_use_;
  std::vector<HeldEnd> ends_;  // a failure here first
  absl::Time deadline_;        // of the current wait: the question, the grace period or SIGKILL
  bool ending_ = false;
  bool killed_ = false;
  std::optional<Cleanup> cleanup_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_GROUP_RESTART_H_
