#ifndef MUSTER_CLIENT_LAUNCHER_RANK_TABLE_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_TABLE_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/hosted_coordinator.h"
#include "client/launcher/mpi_server.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/plan/leftover_finder.h"
#include "client/launcher/process/cleanup.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/process/process_tree.h"
#include "client/launcher/rank_starter.h"
#include "client/launcher/torch_server.h"
#include "common/memory/activity_reader.h"

namespace muster::launcher {

// The ranks of this node and their processes: starts, watches and signals them. Each local rank has
// a place, in which at most one process lives at a time.
class RankTable {
 public:
  struct Place {
    int local_rank = 0;
    int rank = 0;
    int starts = 0;      // how many processes were started here
    std::string secret;  // 16 bytes, new for each start
    pid_t pid = -1;      // of the latest process
    int pidfd = -1;
    bool alive = false;
    bool announced_stopped = false;  // the user was told that the process is stopped
    // The activity of its communicators. Null if the shared memory for it could not be created.
    std::shared_ptr<const ActivityReader> activity;
  };
  // Called when a process has been reaped with this status.
  using OnEnd = std::function<void(pid_t pid, int wait_status)>;

  // All pointers must outlive this object. No call here ends the `coordinator`.
  RankTable(JobPlan* plan, RankStarter* starter, EventLoop* loop,
            const HostedCoordinator* coordinator, MpiServer* mpi, TorchServer* torch, OnEnd on_end);

  // Begins an MPI world, empties the store of PyTorch programs, and calls Start() for every place,
  // until one fails. If neither the user nor other nodes fix the master port, writes a new free
  // port into the plan.
  absl::Status StartAll();
  // Starts a process for a local rank, whose place must have no living one. An error is a text for
  // the user.
  absl::Status Start(int local_rank);

  // Returns when StartAll() was first called.
  absl::Time first_start() const { return first_start_; }

  const Place& At(int local_rank) const { return places_[local_rank]; }
  // Returns the place of the living rank with this pid, or nullptr.
  Place* Find(pid_t pid);
  // Notes that the place's process has been reaped.
  void Ended(Place* place);

  // Notes that the place's process was stopped or continued. Returns true if the user should be
  // told.
  static bool NoteStopped(Place* place, bool stopped);

  // Sends the signal to the process group of each living rank, stopped ones included.
  // SignalAndContinue() also continues stopped ones.
  void Signal(int signal);
  void SignalAndContinue(int signal);

  // Returns the living ranks, ascending. A rank here is its number in the job.
  std::vector<int> Living() const;
  // Returns the living ranks that this user may not signal.
  std::vector<int> OutOfReach() const;
  // Treats all living ranks as ended, without waiting for them.
  void Abandon();

  // Returns a cleanup of the processes that the place's latest process, which has ended, left
  // behind.
  Cleanup CleanUpAfter(const Place& place);
  // Returns a cleanup for all ranks, none of which may be alive.
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
  MpiServer* const mpi_;
  TorchServer* const torch_;
  const OnEnd on_end_;
  std::vector<Place> places_;  // by local rank
  absl::Time first_start_ = absl::InfiniteFuture();
  LeftoverFinder leftovers_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_TABLE_H_
