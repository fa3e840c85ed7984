#ifndef MUSTER_CLIENT_LAUNCHER_RANK_TABLE_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_TABLE_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/cleanup.h"
#include "client/launcher/event_loop.h"
#include "client/launcher/hosted_coordinator.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/leftover_finder.h"
#include "client/launcher/process_tree.h"
#include "client/launcher/rank_starter.h"
#include "common/rank_activity.h"

namespace muster::launcher {

// The processes of this node's ranks: starts, watches and signals them. One process at a time runs
// in the place of each local rank.
class RankTable {
 public:
  struct Place {
    int local_rank = 0;
    int rank = 0;
    int starts = 0;      // how many processes have been started here
    std::string secret;  // 16 bytes, new at each start
    pid_t pid = -1;      // the last one's
    int pidfd = -1;
    bool alive = false;
    bool said_stopped = false;  // the user was told that the process is stopped
    // What its communicators do; null where there is no memory for it.
    std::shared_ptr<const RankActivity> activity;
  };
  // A process has ended, and has been waited for with this status.
  using OnEnd = std::function<void(pid_t pid, int wait_status)>;

  // All pointers must outlive this object. Nothing here ever ends the `coordinator`.
  RankTable(JobPlan* plan, RankStarter* starter, EventLoop* loop,
            const HostedCoordinator* coordinator, OnEnd on_end);

  // Start() for every place, until one fails. Writes a free port into the plan as its master port,
  // a new one each time, where neither the user nor other nodes have a say in that.
  absl::Status StartAll();
  // Starts a process in the place of a local rank, where none may be alive. The text of an error is
  // for the user.
  absl::Status Start(int local_rank);

  // When StartAll() was called first.
  absl::Time first_start() const { return first_start_; }

  const Place& At(int local_rank) const { return places_[local_rank]; }
  // The place of the living rank with this pid; nullptr if it is none.
  Place* Find(pid_t pid);
  // Its process has ended and been waited for.
  void Ended(Place* place);

  // Its process was stopped, or was continued. True where the user is to be told.
  static bool NoteStopped(Place* place, bool stopped);

  // To each living rank's process group, stopped ones included.
  void Signal(int signal);
  void SignalAndContinue(int signal);

  // Ascending.
  std::vector<int> Living() const;
  // Of the living, those that this user may not signal.
  std::vector<int> OutOfReach() const;
  // Does as if they had ended.
  void Abandon();

  // Ends what the process that was last started in a place, and has ended, has left behind.
  Cleanup CleanUpAfter(const Place& place);
  // The same of all ranks; none may live.
  Cleanup CleanUpAfterAll() const;

 private:
  void WatchEnd(Place* place);
  Leftovers LeftBehind(const Place& place);
  Cleanup CleanUp(Cleanup::Pick pick) const;

  JobPlan& plan_;
  const bool picks_master_port_;
  RankStarter* const starter_;
  EventLoop* const loop_;
  const HostedCoordinator& coordinator_;
  const OnEnd on_end_;
  std::vector<Place> places_;  // by local rank
  absl::Time first_start_ = absl::InfiniteFuture();
  LeftoverFinder leftovers_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_TABLE_H_
