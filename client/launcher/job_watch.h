#ifndef MUSTER_CLIENT_LAUNCHER_JOB_WATCH_H_
#define MUSTER_CLIENT_LAUNCHER_JOB_WATCH_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/client_group.h"
#include "client/launcher/job_plan.h"

namespace muster::launcher {

// Finds out that the job has failed on another node. The ranks here learn it by themselves only in
// calls of the SDK, which a rank that computes, or hangs, may not make for hours. Asks the
// coordinator every two seconds, and less often where that would be too much for it: every 16
// seconds in a job of 4000 nodes. Has a thread of its own. Its calls may come from one thread at a
// time.
class JobWatch {
 public:
  // `group` may be null.
  JobWatch(const JobPlan& plan, std::shared_ptr<ClientGroup> group);
  // OK, or why it finds out nothing: the process gets no thread.
  const absl::Status& started() const { return started_; }
  // Does not wait.
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  // The 16 bytes of a process that was started here: a failure counts if the job that has failed
  // is the one that this process is a member of, and not an earlier one of that name. One that
  // has failed before it formed is nobody's: whoever joins it is refused.
  void AddOwn(const std::string& incarnation);

  // Within this time after a failure every node knows of it.
  static absl::Duration Delay(const JobPlan& plan);

  // The job's epoch was seen to have a process that was started here.
  bool formed() const;

  // Becomes readable when the job has failed, and stays so.
  int fd() const;
  // Why, in the coordinator's words, once it has.
  std::string reason() const;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  // Shared with the thread, which may be inside a call when this object goes.
  std::shared_ptr<State> state_;
  absl::Status started_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_JOB_WATCH_H_
