#ifndef MUSTER_CLIENT_CLI_RANK_PROCESSES_H_
#define MUSTER_CLIENT_CLI_RANK_PROCESSES_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/event_loop.h"
#include "client/cli/host_port.h"
#include "client/cli/launch_plan.h"
#include "client/cli/output.h"

namespace muster::cli {

// The processes of this node's ranks: starts, watches and signals them. One process at a time runs
// in the place of each local rank.
class RankProcesses {
 public:
  struct Process {
    int local_rank = 0;
    int rank = 0;
    int starts = 0;           // how many processes have been started in this place
    std::string name;         // owner of its output
    std::string incarnation;  // 16 bytes, new at each start
    pid_t pid = -1;
    int pidfd = -1;
    bool alive = false;
  };
  // A process has ended, and has been waited for with this status.
  using OnEnd = std::function<void(pid_t pid, int wait_status)>;

  // `program` is the file that the ranks execute. All pointers must outlive this object.
  RankProcesses(const LaunchPlan* plan, std::string program, EventLoop* loop, Output* output,
                OnEnd on_end);

  // Opens the log files that the plan asks for; the text of an error is for the user.
  absl::Status OpenLogs();

  // Starts a process in the place of a local rank, where none may be alive.
  absl::Status Start(int local_rank, const HostPort& coordinator);

  // The living rank with this pid; nullptr if it is none.
  Process* Find(pid_t pid);
  // It has ended and been waited for: takes what is left of its output.
  void Reap(Process* process);

  // To each living rank's process group.
  void Signal(int signal);

  // Ascending.
  std::vector<int> Living() const;

 private:
  absl::StatusOr<pid_t> Spawn(const Process& process, const HostPort& coordinator);
  void WatchEnd(Process* process);

  const LaunchPlan& plan_;
  const std::string program_;
  EventLoop* const loop_;
  Output* const output_;
  const OnEnd on_end_;
  std::vector<std::optional<int>> logs_;  // by local rank
  std::vector<Process> processes_;        // by local rank
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RANK_PROCESSES_H_
