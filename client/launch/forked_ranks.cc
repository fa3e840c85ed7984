#include "client/launch/forked_ranks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/plan/rank_environment.h"
#include "client/src/base/outcome.h"
#include "muster/exit_code.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

// Every pipe holds this many bytes, even if the user's limits make pipes small.
constexpr size_t kMaxReport = 4096;

std::set<int> OpenFds() {
  std::set<int> fds;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    int fd = -1;
    if (absl::SimpleAtoi(entry->path().filename().string(), &fd)) fds.insert(fd);
  }
  return fds;
}

void SetEnvironment(const launcher::RankVariables& variables) {
  for (const auto& [name, value] : variables) {
    if (value) {
      setenv(name.c_str(), value->c_str(), /*overwrite=*/1);
    } else {
      unsetenv(name.c_str());
    }
  }
}

void Detach(pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent died before prctl()
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
    return absl::InternalError("the function threw something other than a std::exception");
  }
}

void Report(int fd, const absl::Status& status) {
  std::string bytes = PackStatus(status);
  if (bytes.size() > kMaxReport) bytes.resize(kMaxReport);
  [[maybe_unused]] const ssize_t written = write(fd, bytes.data(), bytes.size());
}

[[noreturn]] void RunBody(int report_fd, const std::function<absl::Status()>& body) {
  const absl::Status status = CallGuarded(body);
  Report(report_fd, status);
  // Does not call exit(): handlers registered with atexit() are for the program, not its forks.
  std::cout.flush();
  fflush(nullptr);
  _exit(ExitCode(status));
}

// Returns the body's status once the process has ended, or nullopt if the body did not return.
// Closes the descriptor.
std::optional<absl::Status> TakeReport(int report_fd) {
  char bytes[kMaxReport];
  const ssize_t size = read(report_fd, bytes, sizeof(bytes));
  close(report_fd);
  if (size <= 0) return std::nullopt;
  return UnpackStatus(absl::string_view(bytes, size));
}

absl::Status StatusOf(const launcher::RankEnd& end, const std::string& why,
                      std::optional<absl::Status> reported) {
  if (end.end.clean()) return absl::OkStatus();
  // A process that was killed after its function had returned counts as failed too.
  if (!end.end.signaled && reported && !reported->ok()) return *std::move(reported);
  return absl::AbortedError(absl::StrCat("it ", Describe(end.end), why.empty() ? "" : "; ", why));
}

}  // namespace

ForkedRanks::ForkedRanks(Body body, const std::vector<int>& own_fds)
    : body_(std::move(body)), inherited_fds_(OpenFds()) {
  for (const int fd : own_fds) inherited_fds_.erase(fd);
}

absl::StatusOr<pid_t> ForkedRanks::Start(const launcher::JobPlan& job,
                                         const launcher::RankStart& start) {
  int report[2];
  if (pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0) return launcher::StartError(errno, "pipe");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) RunRank(parent, report[1], job, start);
  const int error = errno;
  close(report[1]);
  if (pid < 0) close(report[0]);
  if (pid < 0) return launcher::StartError(error, "fork");
  setpgid(pid, pid);  // both processes call it; the first one counts
  report_fds_.push_back(report[0]);
  LaunchedProcess& process = result_.processes.emplace_back();
  process.rank = job.GlobalRank(start.local_rank);
  process.local_rank = start.local_rank;
  process.pid = pid;
  return pid;
}

void ForkedRanks::RunRank(pid_t parent, int report_fd, const launcher::JobPlan& job,
                          const launcher::RankStart& start) {
  Detach(parent);
  CloseOwnFds(report_fd);
  SetEnvironment(launcher::VariablesOf(job, start));
  RunBody(report_fd, [&] { return body_(start.local_rank); });
}

void ForkedRanks::CloseOwnFds(int report_fd) const {
  for (const int fd : OpenFds()) {
    if (inherited_fds_.count(fd) == 0 && fd != report_fd) close(fd);
  }
}

void ForkedRanks::Ended(int local_rank, const launcher::RankEnd& end, const std::string& why) {
  LaunchedProcess& process = result_.processes[local_rank];
  process.status = StatusOf(end, why, TakeReport(report_fds_[local_rank]));
  process.exit_status = end.end.signaled ? -1 : end.end.code;
  if (end.end.signaled) process.signal = end.end.code;
  process.was_ended = end.after_our_signal && !process.status.ok();
  if (!process.status.ok() && !result_.first_failed_rank) result_.first_failed_rank = process.rank;
}

void ForkedRanks::EndedWithoutLeave(int local_rank) {
  LaunchedProcess& process = result_.processes[local_rank];
  process.status = absl::FailedPreconditionError(
      "it ended with 0 without Leave(); call job->Leave() before the function returns");
  result_.first_failed_rank = process.rank;
}

absl::StatusOr<int> ForkedRanks::CoordinatorOutput() {
  const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  return fd < 0 ? absl::StatusOr<int>(absl::ErrnoToStatus(errno, "standard error")) : fd;
}

void ForkedRanks::Say(const std::string& text) { Log(LogLevel::kWarning, text); }

}  // namespace muster::internal
