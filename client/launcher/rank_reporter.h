#ifndef MUSTER_CLIENT_LAUNCHER_RANK_REPORTER_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_REPORTER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/launcher/client_group.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/process_end.h"

namespace muster::launcher {

// Tells the coordinator how ranks have ended and which are stopped, on a thread of its own. It is a
// help, not a need: the coordinator notices a lost member without it, only later and without the
// cause. A report that does not get through is repeated for a while, since the coordinator may be
// about to be started again, and then dropped. Its calls may come from one thread at a time.
class RankReporter {
 public:
  // Connects at once, so that a first report need not wait for that. `group` may be null.
  RankReporter(const JobPlan& plan, std::shared_ptr<ClientGroup> group);
  // OK, or why it drops every report: the process gets no thread.
  const absl::Status& started() const { return started_; }
  // Does not wait: reports that are left are dropped.
  ~RankReporter();
  RankReporter(const RankReporter&) = delete;
  RankReporter& operator=(const RankReporter&) = delete;

  // Never block. `secret` is that of the process. `given_up` is not empty where nobody is started
  // in its place before the job has formed: why, for those who wait on other nodes.
  void ReportEnd(const std::string& secret, pid_t pid, const ProcessEnd& end,
                 const std::string& given_up);
  // No process comes to this node at all.
  void ReportNotStarted(const std::string& why);
  void ReportStopped(const std::string& secret, bool stopped);
  // The process was started: while the job forms nobody else can say that its place stays empty.
  void ReportStarted(const std::string& secret);

  // How the coordinator tells of an end that has cost the job a member.
  struct Loss {
    pid_t pid = -1;
    bool without_leave = false;  // the process ended with status 0, and had not called Leave
    std::string words;
  };
  // Readable while there are some; and those since the last time.
  int fd() const;
  std::vector<Loss> TakeLosses();

  // Tries once more what has not got through. Blocks until every report has been answered or
  // dropped: for five seconds at most, and not at all where the coordinator has gone.
  void Flush();

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  // Shared with the thread, which may be inside a call when this object goes.
  std::shared_ptr<State> state_;
  absl::Status started_;
};

// Tells the coordinator of a job of several nodes that no rank of this one will come, and why.
// Blocks for five seconds at most; an error is nobody's matter.
void ReportNotStarted(const JobPlan& plan, const std::string& why);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_REPORTER_H_
