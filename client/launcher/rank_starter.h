#ifndef MUSTER_CLIENT_LAUNCHER_RANK_STARTER_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_STARTER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/launcher/outcome/run_outcome.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/plan/rank_environment.h"
#include "client/launcher/process/output_tails.h"

namespace muster::launcher {

// Starts the processes of ranks and handles their output. `muster run` and muster::Launch() differ
// only in this interface. Supervisor calls it, from one thread.
class RankStarter {
 public:
  virtual ~RankStarter() = default;

  // Starts a process that leads its own process group, has VariablesOf(plan, start) in its
  // environment, and is killed when this process ends. An error has the system's text.
  virtual absl::StatusOr<pid_t> Start(const JobPlan& plan, const RankStart& start) = 0;

  // Called when that process has been reaped, before the user is told of it. `why` is empty, unless
  // the rank was ended because of a failure elsewhere.
  virtual void Ended(int local_rank, const RankEnd& end, const std::string& why) = 0;

  // Called when that process exited with status 0 without a call of Leave(): the job has failed.
  virtual void EndedWithoutLeave(int /*local_rank*/) {}

  // Returns a descriptor for the output of one musterd process. The caller owns it.
  virtual absl::StatusOr<int> CoordinatorOutput() = 0;

  // Called when the hosted coordinator listens, before any rank is started. `page` is its status
  // page, if it has one.
  virtual void CoordinatorServes(const HostPort& /*address*/,
                                 const std::optional<HostPort>& /*page*/) {}

  // Called when the launcher's terminal has been resized, before the ranks get SIGWINCH.
  virtual void WindowChanged() {}

  // Returns the end of each rank's output, by name ("rank 3"), or null if this launcher does not
  // see it.
  virtual std::shared_ptr<const OutputTails> output_tails() const { return nullptr; }

  // Prints one line for the user.
  virtual void Say(const std::string& text) = 0;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_STARTER_H_
