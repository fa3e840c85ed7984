#ifndef MUSTER_CLIENT_CLI_NODE_RUN_H_
#define MUSTER_CLIENT_CLI_NODE_RUN_H_

#include <string>

#include "absl/time/time.h"
#include "client/cli/executed_ranks.h"
#include "client/cli/launch_plan.h"
#include "client/cli/output.h"
#include "client/launcher/event_loop.h"
#include "client/launcher/supervisor.h"

namespace muster::cli {

// What `muster run` does on this node, in its supervisor process: the ranks and their output.
class NodeRun {
 public:
  // `program` is the file that the ranks execute; `control_fd` is the Supervisor's.
  NodeRun(LaunchPlan plan, std::string program, int control_fd);

  // Blocks until every rank has ended and all output is written. Returns the exit status of `muster
  // run`.
  int Run();

 private:
  int Refuse(const absl::Status& status);
  int ExitStatus() const;
  // Returns when nothing is left to write, or the user wants to leave.
  void AwaitOutput();
  bool Written();

  const LaunchPlan plan_;
  launcher::EventLoop loop_;
  Output output_;
  ExecutedRanks ranks_;
  launcher::Supervisor supervisor_;
  size_t log_bytes_left_ = 0;  // of log files, when it was last looked, ...
  absl::Time log_deadline_;    // ... and until when that must have changed
  bool logs_given_up_ = false;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_NODE_RUN_H_
