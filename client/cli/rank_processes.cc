#include "client/cli/rank_processes.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/environment.h"
#include "client/cli/incarnation.h"
#include "client/cli/spawn.h"

namespace muster::cli {
namespace {

// glibc 2.36 declares pidfd_open() in a way that C++ cannot link.
int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

RankProcesses::RankProcesses(const LaunchPlan* plan, std::string program, EventLoop* loop,
                             Output* output, OnEnd on_end)
    : plan_(*plan),
      program_(std::move(program)),
      loop_(loop),
      output_(output),
      on_end_(std::move(on_end)),
      logs_(plan->nproc_per_node),
      processes_(plan->nproc_per_node) {
  for (int local_rank = 0; local_rank < plan->nproc_per_node; ++local_rank) {
    Process& process = processes_[local_rank];
    process.local_rank = local_rank;
    process.rank = plan->GlobalRank(local_rank);
    process.name = absl::StrCat("rank ", process.rank);
  }
}

absl::Status RankProcesses::OpenLogs() {
  if (plan_.log_dir.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(plan_.log_dir, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("--log-dir: cannot make ", plan_.log_dir, ": ", error.message()));
  }
  for (const Process& process : processes_) {
    const absl::StatusOr<int> log =
        output_->OpenLog(absl::StrCat(plan_.log_dir, "/rank-", process.rank, ".log"));
    if (!log.ok()) {
      return absl::UnavailableError(absl::StrCat("--log-dir: ", log.status().message()));
    }
    logs_[process.local_rank] = *log;
  }
  return absl::OkStatus();
}

absl::Status RankProcesses::Start(int local_rank, const HostPort& coordinator) {
  Process& process = processes_[local_rank];
  process.incarnation = NewIncarnation();
  const absl::StatusOr<pid_t> pid = Spawn(process, coordinator);
  if (!pid.ok()) {
    const char* hint = absl::IsResourceExhausted(pid.status())
                           ? "; see 'ulimit -n' and 'ulimit -u' for the limits"
                           : "";
    return absl::Status(pid.status().code(), absl::StrCat("cannot start ", process.name, ": ",
                                                          pid.status().message(), hint));
  }
  process.pid = *pid;
  process.alive = true;
  ++process.starts;
  WatchEnd(&process);
  return absl::OkStatus();
}

absl::StatusOr<pid_t> RankProcesses::Spawn(const Process& process, const HostPort& coordinator) {
  const std::string prefix = plan_.prefix ? absl::StrCat("[", process.rank, "] ") : "";
  const std::optional<int> log = logs_[process.local_rank];
  const absl::StatusOr<int> out =
      output_->OpenPipe(process.name, Output::Stream::kStdout, prefix, log);
  if (!out.ok()) return out.status();
  const absl::StatusOr<int> err =
      output_->OpenPipe(process.name, Output::Stream::kStderr, prefix, log);
  if (!err.ok()) close(*out);
  if (!err.ok()) return err.status();
  const absl::StatusOr<pid_t> pid =
      cli::Spawn({program_, plan_.program,
                  RankEnvironment(plan_, coordinator,
                                  {process.local_rank, process.incarnation, process.starts},
                                  CurrentEnvironment()),
                  *out, *err});
  close(*out);
  close(*err);
  return pid;
}

void RankProcesses::WatchEnd(Process* process) {
  // SIGCHLD alone would do, but of several ranks that have ended meanwhile it does not tell which
  // was the first.
  process->pidfd = OpenPidfd(process->pid);
  if (process->pidfd < 0) return;
  loop_->Watch(process->pidfd, [this, pid = process->pid] {
    int wait_status = 0;
    if (waitpid(pid, &wait_status, WNOHANG) == pid) on_end_(pid, wait_status);
  });
}

RankProcesses::Process* RankProcesses::Find(pid_t pid) {
  for (Process& process : processes_) {
    if (process.alive && process.pid == pid) return &process;
  }
  return nullptr;
}

void RankProcesses::Reap(Process* process) {
  process->alive = false;
  if (process->pidfd >= 0) {
    loop_->Forget(process->pidfd);
    close(process->pidfd);
  }
  output_->Drain(process->name);
}

void RankProcesses::Signal(int signal) {
  // The group, as a terminal does: a shell that runs the program for us passes nothing on.
  for (const Process& process : processes_) {
    if (!process.alive) continue;
    kill(-process.pid, signal);
    kill(-process.pid, SIGCONT);  // a stopped process takes no other signal
  }
}

std::vector<int> RankProcesses::Living() const {
  std::vector<int> living;
  for (const Process& process : processes_) {
    if (process.alive) living.push_back(process.rank);
  }
  return living;
}

}  // namespace muster::cli
