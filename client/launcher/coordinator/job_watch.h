#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_JOB_WATCH_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_JOB_WATCH_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator/client_group.h"
#include "client/launcher/plan/job_plan.h"

namespace muster::launcher {

// Notices that the job has failed on another node. A rank learns of this only in an SDK call, and a
// rank that computes or hangs may not make one for hours. Polls the coordinator every two seconds,
// and less often in large jobs to limit its load: every 16 seconds with 4000 nodes. Runs on its own
// thread. Call from one thread at a time.
class JobWatch {
 public:
  // `group` may be null.
  JobWatch(const JobPlan& plan, std::shared_ptr<ClientGroup> group);
  // Returns OK, or why the thread could not start and so nothing is noticed.
  const absl::Status& started() const { return started_; }
  // Does not block.
  ~JobWatch();
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  // Adds the 16-byte incarnation of a process that was started here. A failure counts only if one
  // of these processes is a member of the failed epoch; an earlier job of the same name does not
  // count. A job that failed before it formed always counts, because the coordinator refuses every
  // process that joins it.
  void AddOwn(const std::string& incarnation);

  // Returns the time within which every node notices a failure.
  static absl::Duration Delay(const JobPlan& plan);

  // Returns whether a process that was started here was seen in the job's epoch.
  bool formed() const;

  // Becomes readable when the job has failed, and stays readable.
  int fd() const;
  // Returns the coordinator's reason once the job has failed, else "".
  std::string reason() const;

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  // Shared with the thread, which may still be in a call when this object is destroyed.
  std::shared_ptr<State> state_;
  absl::Status started_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_JOB_WATCH_H_
