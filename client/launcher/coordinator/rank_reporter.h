#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_REPORTER_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_REPORTER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/coordinator/client_group.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/plan/job_plan.h"

namespace muster::launcher {

// Reports to the coordinator how ranks end and which ones are stopped, on its own thread.
// Correctness never depends on it: without reports, the coordinator still notices a lost member,
// but later and without the cause. A report that is not delivered is retried for some seconds,
// since the coordinator may be restarting, and then dropped. Call from one thread at a time.
class RankReporter {
 public:
  // Connects at once, so that the first report is fast. `group` may be null.
  RankReporter(const JobPlan& plan, std::shared_ptr<ClientGroup> group);
  // Returns OK, or why the thread could not start and all reports are dropped.
  const absl::Status& started() const { return started_; }
  // Does not block. Drops the reports that are left.
  ~RankReporter();
  RankReporter(const RankReporter&) = delete;
  RankReporter& operator=(const RankReporter&) = delete;

  // These calls never block. `secret` is the process secret. If no process will replace the ended
  // one before the job has formed, `given_up` says why, for the ranks that wait on other nodes.
  void ReportEnd(const std::string& secret, pid_t pid, const ProcessEnd& end,
                 const std::string& given_up);
  // Reports that no process will be started on this node.
  void ReportNotStarted(const std::string& why);
  void ReportStopped(const std::string& secret, bool stopped);
  // Reports that the process was started. While the job forms, only its launcher can say that its
  // place is not empty.
  void ReportStarted(const std::string& secret);

  // The coordinator's account of an end that has cost the job a member.
  struct Loss {
    pid_t pid = -1;
    bool without_leave = false;  // the process exited with status 0 and had not called Leave
    std::string description;
  };
  // fd() is readable while there are new losses. TakeLosses() returns them.
  int fd() const;
  std::vector<Loss> TakeLosses();

  // Sends each pending report once more. Blocks until all reports are answered or dropped, for at
  // most five seconds. Returns at once if the coordinator is gone.
  void Flush();

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  // Shared with the thread, which may still be in a call when this object is destroyed.
  std::shared_ptr<State> state_;
  absl::Status started_;
};

// Tells the coordinator of a job with several nodes that no rank of this node will come, and why.
// Blocks for at most five seconds. Errors are ignored.
void ReportNotStarted(const JobPlan& plan, const std::string& why);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_RANK_REPORTER_H_
