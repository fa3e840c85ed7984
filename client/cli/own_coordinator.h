#ifndef MUSTER_CLIENT_CLI_OWN_COORDINATOR_H_
#define MUSTER_CLIENT_CLI_OWN_COORDINATOR_H_

#include <sys/types.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/host_port.h"
#include "client/cli/launch_plan.h"
#include "client/cli/output.h"
#include "client/cli/process_end.h"

namespace muster::cli {

// The musterd that a standalone run starts for itself on a free port of the loopback interface.
class OwnCoordinator {
 public:
  // Starts the binary at `musterd`. Does not wait until it listens: poll Address(). Its output goes
  // to standard error with "[musterd] " before each line. `plan` and `output` must outlive it.
  static absl::StatusOr<std::unique_ptr<OwnCoordinator>> Start(const std::string& musterd,
                                                               const LaunchPlan& plan,
                                                               Output* output);
  ~OwnCoordinator();

  pid_t pid() const { return pid_; }

  // Where it listens, once it does.
  std::optional<HostPort> Address();

  // It has ended at `now` (of a steady clock) and been waited for: starts another one on the same
  // port, which the job's members will find. Address() must have been known. RESOURCE_EXHAUSTED: it
  // ends again and again.
  absl::Status StartAgain(absl::Time now);

  // Ends it: SIGTERM, and SIGKILL if it takes longer than `patience`. Must not come after it has
  // been reaped elsewhere.
  void Stop(absl::Duration patience);

 private:
  OwnCoordinator(std::string musterd, const LaunchPlan& plan, Output* output, std::string directory)
      : musterd_(std::move(musterd)),
        plan_(plan),
        output_(output),
        directory_(std::move(directory)) {}
  std::string port_file() const { return directory_ + "/port"; }
  absl::Status Spawn();
  std::vector<std::string> Arguments() const;
  void RemoveDirectory();

  const std::string musterd_;
  const LaunchPlan& plan_;
  Output* const output_;
  std::string directory_;  // private; empty once it has been removed
  pid_t pid_ = -1;
  std::optional<HostPort> address_;
  std::deque<absl::Time> ends_;  // the latest
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_OWN_COORDINATOR_H_
