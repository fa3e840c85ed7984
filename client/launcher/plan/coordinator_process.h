#ifndef MUSTER_CLIENT_LAUNCHER_PLAN_COORDINATOR_PROCESS_H_
#define MUSTER_CLIENT_LAUNCHER_PLAN_COORDINATOR_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/launcher/process/restart_backoff.h"
#include "common/names/host_port.h"

namespace muster::launcher {

struct CoordinatorCommand {
  std::string musterd;             // path of the binary
  HostPort listen;                 // port 0 picks a free one
  std::vector<std::string> flags;  // all other flags
  // Where musterd serves metrics and the status page. Port 0 picks a free one. If unset, the
  // environment and the flags decide.
  std::optional<HostPort> metrics;
  // True: this launcher makes a token that only its own ranks share. False: the environment and the
  // flags name the credentials.
  bool own_token = false;
};

// A musterd process that a launcher hosts for its job, and restarts when it dies.
class CoordinatorProcess {
 public:
  // Returns a new descriptor for the output of one musterd process. It is closed once the process
  // has it.
  using OpenOutput = std::function<absl::StatusOr<int>()>;

  // Starts musterd. Does not block until it listens: poll Address().
  static absl::StatusOr<std::unique_ptr<CoordinatorProcess>> Start(CoordinatorCommand command,
                                                                   OpenOutput open_output);
  ~CoordinatorProcess();
  CoordinatorProcess(const CoordinatorProcess&) = delete;
  CoordinatorProcess& operator=(const CoordinatorProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Returns where musterd listens, or nullopt while it does not listen yet.
  std::optional<HostPort> Address();
  // Returns the address of the status page, or nullopt if there is none. Valid once Address() is
  // known.
  std::optional<HostPort> Page() const;

  // Returns the path of this launcher's own token, which only this user can read. Empty if it has
  // none. The file is deleted with this object.
  std::string token_file() const;

  // Returns how long to wait before the next start. Returns nullopt if musterd has not stayed up
  // for patience(), so that the caller gives up. Call it when the process has been reaped, or could
  // not be restarted.
  std::optional<absl::Duration> NextPause();
  // Returns how long ranks wait for a coordinator that is down.
  absl::Duration patience() const { return patience_; }
  // Starts musterd again on the same port, so that the job's members find it. Address() must have
  // returned an address before.
  absl::Status StartAgain() { return Spawn(); }

 private:
  CoordinatorProcess(CoordinatorCommand command, OpenOutput open_output, std::string directory);
  std::string port_file() const { return directory_ + "/port"; }
  std::string metrics_port_file() const;
  absl::Status WriteToken() const;
  absl::Status Spawn();
  std::vector<std::string> Arguments() const;
  void RemoveDirectory();

  CoordinatorCommand command_;  // with the ports, once they are known
  const OpenOutput open_output_;
  std::string directory_;  // private; empty once it has been removed
  int directory_fd_;       // holds the lock on directory_; -1 if there is none
  bool listens_ = false;   // musterd has listened, so its port is known
  pid_t pid_ = -1;
  absl::Time started_;  // of the latest start, or attempt, by SteadyNow()
  const absl::Duration patience_;
  RestartBackoff backoff_{patience_};
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PLAN_COORDINATOR_PROCESS_H_
