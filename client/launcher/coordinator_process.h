#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_PROCESS_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/restart_backoff.h"
#include "common/host_port.h"

namespace muster::launcher {

struct CoordinatorCommand {
  std::string musterd;             // path of the binary
  HostPort listen;                 // port 0 is a free one
  std::vector<std::string> flags;  // all the others
  // Where it serves metrics and the status page, port 0 for a free one; unset: nowhere, unless the
  // environment or the flags say so.
  std::optional<HostPort> metrics;
  // It serves only those that this launcher starts: they share a token that nobody else has. False:
  // its credentials are those that the environment and the flags name.
  bool own_token = false;
};

// The musterd that a launcher hosts for its job, and starts again when it dies.
class CoordinatorProcess {
 public:
  // Makes a descriptor for the output of one process, which is closed when it has been passed on.
  using OpenOutput = std::function<absl::StatusOr<int>()>;

  // Does not wait until it listens: poll Address().
  static absl::StatusOr<std::unique_ptr<CoordinatorProcess>> Start(CoordinatorCommand command,
                                                                   OpenOutput open_output);
  ~CoordinatorProcess();
  CoordinatorProcess(const CoordinatorProcess&) = delete;
  CoordinatorProcess& operator=(const CoordinatorProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Where it listens, once it does.
  std::optional<HostPort> Address();
  // Where its status page is, once Address() is known; nothing where it was not told to have one.
  std::optional<HostPort> Page() const;

  // Where its own token is, which only this user can read; empty if it has none. Goes with this
  // object.
  std::string token_file() const;

  // It has ended and been waited for, or could not be started again: returns how long to wait until
  // it is; nullopt if it has not stayed up for patience().
  std::optional<absl::Duration> NextPause();
  // As long as ranks wait for a coordinator that is down.
  absl::Duration patience() const { return patience_; }
  // Starts another one on the same port, which the job's members will find. Address() must have
  // been known.
  absl::Status StartAgain() { return Spawn(); }

 private:
  CoordinatorProcess(CoordinatorCommand command, OpenOutput open_output, std::string directory);
  std::string port_file() const { return directory_ + "/port"; }
  std::string metrics_port_file() const;
  absl::Status WriteToken() const;
  absl::Status Spawn();
  std::vector<std::string> Arguments() const;
  void RemoveDirectory();

  CoordinatorCommand command_;  // with the ports, once these are known
  const OpenOutput open_output_;
  std::string directory_;  // private; empty once it has been removed
  int directory_fd_;       // keeps it locked; -1 where there is none
  bool listens_ = false;   // or has: its port is known
  pid_t pid_ = -1;
  absl::Time started_;  // by SteadyNow(), or was to be
  const absl::Duration patience_;
  RestartBackoff backoff_{patience_};
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_PROCESS_H_
