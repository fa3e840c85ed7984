#ifndef MUSTER_CLIENT_CLI_RUN_NODE_RUN_H_
#define MUSTER_CLIENT_CLI_RUN_NODE_RUN_H_

#include <string>

#include "absl/time/time.h"
#include "client/cli/run/executed_ranks.h"
#include "client/cli/run/launch_plan.h"
#include "client/cli/run/output.h"
#include "client/launcher/process/event_loop.h"
#include "client/launcher/supervisor.h"

namespace muster::cli {

// The supervisor process of `muster run`: the ranks of this node and their output.
class NodeRun {
 public:
  // `program` is the path that the ranks execute; `control_fd` is as in Supervisor.
  NodeRun(LaunchPlan plan, std::string program, int control_fd);

  // Blocks until every rank has ended and all output is written. Returns the exit status of `muster
  // run`.
  int Run();

 private:
  int Refuse(const absl::Status& status);
  int ExitStatus() const;
  // Blocks until all output is written, or the user wants to leave.
  void AwaitOutput();
  bool AllWritten();

  const LaunchPlan plan_;
  launcher::EventLoop loop_;
  Output output_;
  ExecutedRanks ranks_;
  launcher::Supervisor supervisor_;
  size_t log_bytes_left_ = 0;  // of the log files, at the last check
  absl::Time log_deadline_;    // gives up if log_bytes_left_ has not changed until then
  bool logs_given_up_ = false;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_NODE_RUN_H_
