#ifndef MUSTER_CLIENT_LAUNCHER_RANK_LOOKS_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_LOOKS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/output_tails.h"
#include "client/observe/bundle.h"
#include "client/observe/sight.h"
#include "common/rank_activity.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// The process of a rank, as its launcher knows it.
struct WatchedRank {
  std::string name;         // "rank 3"
  std::optional<int> rank;  // that it was started for; unset in elastic jobs
  pid_t pid = -1;
  std::string secret;
  std::shared_ptr<const RankActivity> activity;  // may be null
};

// Of a rank whose process has ended.
muster::v1::RankObservation EndedRank(const WatchedRank& rank);

// One look at all ranks of a node. No process can hold it up for longer than some seconds: a rank
// at which nothing can be seen in time is reported without what it is doing.
class RankLooks {
 public:
  // `tails` and `earlier` may be null. What `earlier` has seen of a process is said again where a
  // debugger that was started for it still holds the process.
  RankLooks(std::vector<WatchedRank> ranks, std::shared_ptr<const OutputTails> tails,
            const RankLooks* earlier);

  // What each of them is doing. `stillness` knows since when.
  std::vector<muster::v1::RankObservation> Observe(const observe::Stillness& stillness);

  // All that can be gathered, after Observe(), in ten seconds: "rank-3/threads.txt", "disks.txt".
  std::vector<observe::File> Gather() const;

 private:
  struct Seen;

  std::vector<pid_t> Pids() const;
  // Of the process that was started as this one. Of pid 0: nothing is known of it.
  observe::Sight LatestOf(pid_t started) const;

  const std::vector<WatchedRank> ranks_;
  const std::shared_ptr<const OutputTails> tails_;
  // Shared with threads that may hang.
  std::vector<std::shared_ptr<Seen>> seen_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_LOOKS_H_
