#include "client/launch/placed_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/cli/incarnation.h"
#include "client/src/outcome.h"

namespace muster::internal {
namespace {

// A pipe takes so much at once even where its size is limited.
constexpr size_t kMaxReport = 4096;

void SetEnvironment(const JobPlaces& places, int local_rank, const std::string& incarnation) {
  const std::string rank = absl::StrCat(places.GlobalRank(local_rank));
  const std::string world_size = absl::StrCat(places.world_size());
  const std::map<std::string, std::string> variables = {
      {"MUSTER_COORDINATOR", places.coordinator.ToString()},
      {"MUSTER_JOB", places.job},
      {"MUSTER_WORLD_SIZE", world_size},
      {"MUSTER_RANK", rank},
      {"MUSTER_LOCAL_RANK", absl::StrCat(local_rank)},
      {"MUSTER_NODE_RANK", absl::StrCat(places.node_rank)},
      {"MUSTER_INCARNATION", absl::BytesToHexString(incarnation)},
      {"RANK", rank},
      {"WORLD_SIZE", world_size},
      {"LOCAL_RANK", absl::StrCat(local_rank)},
      {"LOCAL_WORLD_SIZE", absl::StrCat(places.nproc_per_node)},
      {"GROUP_RANK", absl::StrCat(places.node_rank)},
      {"MASTER_ADDR", places.coordinator.host},
      {"MASTER_PORT", absl::StrCat(places.coordinator.port)},
  };
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
}

void Detach(pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  close(null);
}

absl::Status CallGuarded(const std::function<absl::Status()>& body) {
  try {
    return body();
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat("the function threw: ", exception.what()));
  } catch (...) {
    return absl::InternalError("the function threw something that is no std::exception");
  }
}

void Report(int fd, const absl::Status& status) {
  std::string bytes = PackOutcome(status.ok() ? absl::StatusOr<std::string>("") : status);
  if (bytes.size() > kMaxReport) bytes.resize(kMaxReport);
  [[maybe_unused]] const ssize_t written = write(fd, bytes.data(), bytes.size());
}

[[noreturn]] void RunBody(int report_fd, const std::function<absl::Status()>& body) {
  const absl::Status status = CallGuarded(body);
  Report(report_fd, status);
  // Not exit(): what the program has registered for its end is the program's, not its forks'.
  std::cout.flush();
  fflush(nullptr);
  _exit(status.ok() ? 0 : 1);
}

}  // namespace

absl::StatusOr<ForkedProcess> ForkPlaced(const JobPlaces& places, int local_rank,
                                         const std::vector<int>& own_fds,
                                         const std::function<absl::Status()>& body) {
  int report[2];
  if (pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const std::string incarnation = cli::NewIncarnation();
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    Detach(parent);
    close(report[0]);
    for (const int fd : own_fds) close(fd);
    SetEnvironment(places, local_rank, incarnation);
    RunBody(report[1], body);
  }
  const int error = errno;
  close(report[1]);
  if (pid > 0) {
    setpgid(pid, pid);  // whichever of the two comes first
    return ForkedProcess{pid, incarnation, report[0]};
  }
  close(report[0]);
  return absl::ErrnoToStatus(error, "fork");
}

std::optional<absl::Status> TakeReport(int report_fd) {
  char bytes[kMaxReport];
  const ssize_t size = read(report_fd, bytes, sizeof(bytes));
  close(report_fd);
  if (size <= 0) return std::nullopt;
  return UnpackOutcome(absl::string_view(bytes, size)).status();
}

}  // namespace muster::internal
