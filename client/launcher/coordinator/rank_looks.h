#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_LOOKS_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_LOOKS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/process/output_tails.h"
#include "client/observe/bundle/bundle.h"
#include "client/observe/sight.h"
#include "common/rank_activity.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// A rank's process, as its launcher knows it.
struct WatchedRank {
  std::string name;         // "rank 3"
  std::optional<int> rank;  // the rank that it was started for; unset in elastic jobs
  pid_t pid = -1;
  std::string secret;
  std::shared_ptr<const RankActivity> activity;  // may be null
};

// Returns the observation of a rank whose process has ended.
muster::v1::RankObservation EndedRank(const WatchedRank& rank);

// One inspection of all ranks of a node. A process that hangs cannot block it for more than some
// seconds: such a rank is reported without what it is doing.
class RankLooks {
 public:
  // `tails` and `earlier` may be null. A debugger of an earlier inspection may still hold a process
  // stopped. Then its state is taken from `earlier`.
  RankLooks(std::vector<WatchedRank> ranks, std::shared_ptr<const OutputTails> tails,
            const RankLooks* earlier);

  // Returns what each rank is doing. `stillness` says since when.
  std::vector<muster::v1::RankObservation> Observe(const observe::Stillness& stillness);

  // Returns all files that can be gathered in ten seconds, such as "rank-3/threads.txt" and
  // "disks.txt". Call Observe() first.
  std::vector<observe::File> Gather() const;

 private:
  struct Seen;

  std::vector<pid_t> Pids() const;
  // Returns the latest observation of the process that was started with this pid. Returns an empty
  // one, with pid 0, if there is none.
  observe::Sight LatestOf(pid_t started) const;

  const std::vector<WatchedRank> ranks_;
  const std::shared_ptr<const OutputTails> tails_;
  // Shared with threads that may hang.
  std::vector<std::shared_ptr<Seen>> seen_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_LOOKS_H_
