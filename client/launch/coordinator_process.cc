#include "client/launch/coordinator_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/find_program.h"
#include "client/cli/spawn.h"

namespace muster::internal {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(2);

// musterd reads its flags from the environment too, so that a user can tune this one.
std::vector<std::string> Environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    // It serves until it is told to stop, so that an end of its own is always a failure.
    if (!absl::StartsWith(*entry, "MUSTER_EXIT_WHEN_DONE=")) variables.push_back(*entry);
  }
  // The program's output is what the user has come for.
  if (cli::GetEnv("MUSTER_LOG_LEVEL").empty()) variables.push_back("MUSTER_LOG_LEVEL=warning");
  return variables;
}

absl::StatusOr<std::string> MakePrivateDirectory() {
  const std::string base = cli::GetEnv("TMPDIR");
  std::string path = absl::StrCat(base.empty() ? "/tmp" : base, "/muster-launch-XXXXXX");
  if (mkdtemp(path.data()) != nullptr) return path;
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a directory like ", path));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorProcess>> CoordinatorProcess::Start(
    const CoordinatorRequest& request) {
  absl::StatusOr<std::string> directory = MakePrivateDirectory();
  if (!directory.ok()) return directory.status();
  std::unique_ptr<CoordinatorProcess> process(new CoordinatorProcess(*std::move(directory)));
  std::vector<std::string> argv = {request.musterd, absl::StrCat("--listen=", request.listen),
                                   absl::StrCat("--port-file=", process->port_file()),
                                   absl::StrCat("--job=", request.job),
                                   absl::StrCat("--world-size=", request.world_size)};
  argv.insert(argv.end(), request.flags.begin(), request.flags.end());
  const absl::StatusOr<pid_t> pid =
      cli::Spawn({request.musterd, argv, Environment(), STDERR_FILENO, STDERR_FILENO});
  if (!pid.ok()) return pid.status();
  process->pid_ = *pid;
  return process;
}

CoordinatorProcess::~CoordinatorProcess() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::optional<int> CoordinatorProcess::Port() {
  std::ifstream file(port_file());
  int port = 0;
  // The character after the number says that all of it has been written.
  if (!(file >> port) || file.get() != '\n') return std::nullopt;
  return port;
}

void CoordinatorProcess::Stop(absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  kill(pid_, SIGTERM);
  while (waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (absl::Now() > deadline) kill(pid_, SIGKILL);
    absl::SleepFor(kPoll);
  }
}

}  // namespace muster::internal
