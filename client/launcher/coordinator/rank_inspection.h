#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_INSPECTION_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_INSPECTION_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/process/output_tails.h"
#include "client/observe/bundle/bundle.h"
#include "client/observe/process_sampler.h"
#include "common/memory/activity_reader.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// A rank's process, as its launcher knows it.
struct WatchedRank {
  std::string name;         // "rank 3"
  std::optional<int> rank;  // the rank that it was started for; unset in elastic jobs
  pid_t pid = -1;
  std::string secret;
  std::shared_ptr<const ActivityReader> activity;  // may be null
};

// Returns the observation of a rank whose process has ended.
muster::v1::RankObservation EndedRank(const WatchedRank& rank);

// One inspection of all ranks of a node. A process that hangs cannot block it for more than some
// seconds: such a rank is reported without what it is doing.
class RankInspection {
 public:
  // `tails` and `earlier` may be null. A debugger of an earlier inspection may still hold a process
  // stopped. Then its state is taken from `earlier`.
  RankInspection(std::vector<WatchedRank> ranks, std::shared_ptr<const OutputTails> tails,
                 const RankInspection* earlier);

  // Returns what each rank is doing. `tracker` says since when.
  std::vector<muster::v1::RankObservation> Observe(const observe::IdleTracker& tracker);

  // Returns all files that can be gathered in ten seconds, such as "rank-3/threads.txt" and
  // "disks.txt". Call Observe() first.
  std::vector<observe::File> Gather() const;

 private:
  struct RankSample;

  std::vector<pid_t> Pids() const;
  // Returns the latest observation of the process that was started with this pid. Returns an empty
  // one, with pid 0, if there is none.
  observe::ProcessSnapshot LatestOf(pid_t started) const;

  const std::vector<WatchedRank> ranks_;
  const std::shared_ptr<const OutputTails> tails_;
  // Shared with threads that may hang.
  std::vector<std::shared_ptr<RankSample>> samples_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_INSPECTION_H_
