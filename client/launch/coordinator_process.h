#ifndef MUSTER_CLIENT_LAUNCH_COORDINATOR_PROCESS_H_
#define MUSTER_CLIENT_LAUNCH_COORDINATOR_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::internal {

struct CoordinatorRequest {
  std::string musterd;  // path of the binary
  std::string listen;   // "host:port"; port 0 is a free one
  std::string job;
  int world_size = 1;
  std::vector<std::string> flags;  // more of them
};

// The musterd that Launch() hosts. Its output goes to standard error.
class CoordinatorProcess {
 public:
  // Does not wait until it listens: poll Port().
  static absl::StatusOr<std::unique_ptr<CoordinatorProcess>> Start(
      const CoordinatorRequest& request);
  ~CoordinatorProcess();
  CoordinatorProcess(const CoordinatorProcess&) = delete;
  CoordinatorProcess& operator=(const CoordinatorProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Where it listens, once it does.
  std::optional<int> Port();

  // Ends it: SIGTERM, at which it delivers the answers it owes, and SIGKILL if it takes longer than
  // `patience`. Must not come after it has been reaped elsewhere.
  void Stop(absl::Duration patience);

 private:
  explicit CoordinatorProcess(std::string directory) : directory_(std::move(directory)) {}
  std::string port_file() const { return directory_ + "/port"; }

  const std::string directory_;  // private
  pid_t pid_ = -1;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_COORDINATOR_PROCESS_H_
