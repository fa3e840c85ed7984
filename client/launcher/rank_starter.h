#ifndef MUSTER_CLIENT_LAUNCHER_RANK_STARTER_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_STARTER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/output_tails.h"
#include "client/launcher/rank_environment.h"
#include "client/launcher/run_outcome.h"

namespace muster::launcher {

// How the processes of ranks come to be, and what becomes of their output: all in which `muster
// run` and muster::Launch() differ. A Supervisor calls it, from one thread.
class RankStarter {
 public:
  virtual ~RankStarter() = default;

  // Starts a process that leads a process group of its own, has VariablesOf(plan, start) in its
  // environment, and is killed when this one ends. The text of an error is the system's.
  virtual absl::StatusOr<pid_t> Start(const JobPlan& plan, const RankStart& start) = 0;

  // That process has ended and been waited for. Nothing was said of it yet. `why` is empty unless
  // it was ended because of something that has happened to others.
  virtual void Ended(int local_rank, const RankEnd& end, const std::string& why) = 0;

  // That process, which has ended with status 0, had not called Leave(): the job has failed.
  virtual void EndedWithoutLeave(int /*local_rank*/) {}

  // A descriptor, the caller's, for what one process of the coordinator writes.
  virtual absl::StatusOr<int> CoordinatorOutput() = 0;

  // The coordinator that is hosted here listens, and shows the job at `page` where it was told to;
  // no process was started yet.
  virtual void CoordinatorServes(const HostPort& /*address*/,
                                 const std::optional<HostPort>& /*page*/) {}

  // The launcher's terminal has another size; the ranks get SIGWINCH next.
  virtual void WindowChanged() {}

  // The last of what the ranks have written, by "rank 3"; null where it does not come here.
  virtual std::shared_ptr<const OutputTails> output_tails() const { return nullptr; }

  // Tells the user one line.
  virtual void Say(const std::string& text) = 0;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_STARTER_H_
