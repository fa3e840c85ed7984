#include "client/launcher/plan/coordinator_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/plan/rank_environment.h"
#include "client/launcher/process/find_program.h"
#include "client/launcher/process/spawn.h"
#include "common/credentials/token.h"
#include "common/process/known_variables.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

absl::StatusOr<std::string> MakePrivateDirectory() {
  const std::string base = GetEnv("TMPDIR");
  std::string path = absl::StrCat(base.empty() ? "/tmp" : base, "/muster-run-XXXXXX");
  if (mkdtemp(path.data()) != nullptr) return path;
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot create a directory ", path));
}

// Opens and locks the directory. Cleaners of /tmp, such as systemd-tmpfiles after ten days, skip a
// locked directory and its contents. A failure to lock is harmless.
int OpenLocked(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) flock(fd, LOCK_SH | LOCK_NB);
  return fd;
}

std::optional<int> ReadPort(const std::string& path) {
  std::ifstream file(path);
  int port = 0;
  // The newline after the number shows that the file is complete.
  if (!(file >> port) || file.get() != '\n') return std::nullopt;
  return port;
}

// Returns whether the variable is a credential of the user. These are for another coordinator if
// this one has its own token.
bool IsCredential(const std::string& variable) {
  return absl::StartsWith(variable, "MUSTER_TOKEN_") || absl::StartsWith(variable, "MUSTER_TLS_");
}

bool IsUnknown(const std::string& variable) { return !UnknownVariableWarnings({variable}).empty(); }

// Returns the environment for musterd. Its flags have environment variables of the same names, so
// users can tune a hosted coordinator. Flags on the command line take precedence.
std::vector<std::string> Environment(bool own_token) {
  std::vector<std::string> result;
  for (const std::string& variable : CurrentEnvironment()) {
    if (own_token && IsCredential(variable)) continue;
    if (IsUnknown(variable)) continue;  // the launcher has warned about it
    // The hosted coordinator serves until it is told to stop, so any other end is a failure.
    if (!absl::StartsWith(variable, "MUSTER_EXIT_WHEN_DONE=")) result.push_back(variable);
  }
  // Keeps musterd's log short, because users want to see the ranks' output.
  if (GetEnv("MUSTER_LOG_LEVEL").empty()) result.push_back("MUSTER_LOG_LEVEL=warning");
  return result;
}

// Returns how long ranks wait for a coordinator that is down, as the SDK reads it. If the variable
// is not a duration, the ranks report it.
absl::Duration RanksPatience() {
  constexpr absl::Duration kDefault = absl::Minutes(10);
  absl::Duration patience;
  return absl::ParseDuration(GetEnv("MUSTER_COORDINATOR_TIMEOUT"), &patience) ? patience : kDefault;
}

}  // namespace

CoordinatorProcess::CoordinatorProcess(CoordinatorCommand command, OpenOutput open_output,
                                       std::string directory)
    : command_(std::move(command)),
      open_output_(std::move(open_output)),
      directory_(std::move(directory)),
      directory_fd_(OpenLocked(directory_)),
      patience_(RanksPatience()) {}

absl::StatusOr<std::unique_ptr<CoordinatorProcess>> CoordinatorProcess::Start(
    CoordinatorCommand command, OpenOutput open_output) {
  absl::StatusOr<std::string> directory = MakePrivateDirectory();
  if (!directory.ok()) return directory.status();
  std::unique_ptr<CoordinatorProcess> coordinator(
      new CoordinatorProcess(std::move(command), std::move(open_output), *std::move(directory)));
  absl::Status status = coordinator->WriteToken();
  if (status.ok()) status = coordinator->Spawn();
  if (!status.ok()) return status;
  return coordinator;
}

absl::Status CoordinatorProcess::WriteToken() const {
  if (!command_.own_token) return absl::OkStatus();
  const std::string contents = absl::StrCat(NewToken(), "\n");
  const int fd = open(token_file().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, contents.data(), contents.size()) ==
                                      static_cast<ssize_t>(contents.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", token_file()));
}

std::string CoordinatorProcess::token_file() const {
  return command_.own_token ? directory_ + "/token" : "";
}

std::optional<absl::Duration> CoordinatorProcess::NextPause() {
  return backoff_.NextPause(started_, SteadyNow());
}

// The user may have named the file.
std::string CoordinatorProcess::metrics_port_file() const {
  const std::string given = GetEnv("MUSTER_METRICS_PORT_FILE");
  return given.empty() ? directory_ + "/metrics-port" : given;
}

std::vector<std::string> CoordinatorProcess::Arguments() const {
  std::vector<std::string> arguments = {command_.musterd,
                                        absl::StrCat("--listen=", command_.listen.ToString())};
  if (command_.metrics) {
    arguments.push_back(absl::StrCat("--metrics-listen=", command_.metrics->ToString()));
  }
  // A restarted musterd gets the known ports, and its directory may be gone.
  if (!listens_ && command_.metrics) {
    arguments.push_back(absl::StrCat("--metrics-port-file=", metrics_port_file()));
  }
  if (!listens_) arguments.push_back(absl::StrCat("--port-file=", port_file()));
  arguments.insert(arguments.end(), command_.flags.begin(), command_.flags.end());
  if (command_.own_token) arguments.push_back(absl::StrCat("--token-file=", token_file()));
  return arguments;
}

absl::Status CoordinatorProcess::Spawn() {
  started_ = SteadyNow();
  const absl::StatusOr<int> output = open_output_();
  if (!output.ok()) return output.status();
  SpawnRequest request;
  request.path = command_.musterd;
  request.argv = Arguments();
  request.env = Environment(command_.own_token);
  request.stdout_fd = *output;
  request.stderr_fd = *output;
  // A batch system may warn every process of the job with SIGUSR2. musterd blocks SIGUSR1, the
  // other warning, itself.
  request.ignored_signals = {SIGUSR2};
  const absl::StatusOr<pid_t> pid = launcher::Spawn(request);
  close(*output);
  if (!pid.ok()) return pid.status();
  pid_ = *pid;
  return absl::OkStatus();
}

CoordinatorProcess::~CoordinatorProcess() { RemoveDirectory(); }

// musterd writes the port file last, so the metrics port file exists too.
std::optional<HostPort> CoordinatorProcess::Address() {
  if (listens_) return command_.listen;
  const std::optional<int> port = ReadPort(port_file());
  if (!port) return std::nullopt;
  if (command_.metrics) {
    command_.metrics->port = ReadPort(metrics_port_file()).value_or(command_.metrics->port);
  }
  listens_ = true;
  if (!command_.own_token) RemoveDirectory();
  command_.listen.port = *port;
  return command_.listen;
}

std::optional<HostPort> CoordinatorProcess::Page() const {
  if (!command_.metrics || command_.metrics->port == 0) return std::nullopt;
  return LoopbackIfWildcard(*command_.metrics);
}

void CoordinatorProcess::RemoveDirectory() {
  if (directory_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
  directory_.clear();
  if (directory_fd_ >= 0) close(std::exchange(directory_fd_, -1));
}

}  // namespace muster::launcher
