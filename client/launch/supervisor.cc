#include "client/launch/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/process_end.h"
#include "client/cli/process_tree.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

constexpr absl::Duration kCoordinatorPoll = absl::Milliseconds(5);
constexpr absl::Duration kReportPatience = absl::Seconds(1);
constexpr absl::Duration kCoordinatorStart = absl::Seconds(30);
// More than musterd's own time to drain.
constexpr absl::Duration kCoordinatorStop = absl::Seconds(15);

// Deadlines run on the steady clock, in absl's types.
absl::Time SteadyNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

int ChildSignalFd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// For the coordinator's output.
absl::StatusOr<int> OwnStderr() {
  const int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  return fd < 0 ? absl::StatusOr<int>(absl::ErrnoToStatus(errno, "standard error")) : fd;
}

absl::Status StatusOf(const cli::ProcessEnd& end, std::optional<absl::Status> reported) {
  if (end.clean()) return absl::OkStatus();
  // A process that was killed after its function returned is a failure too.
  if (!end.signaled && reported && !reported->ok()) return *std::move(reported);
  return absl::AbortedError(absl::StrCat("it ", cli::Describe(end)));
}

}  // namespace

Supervisor::Supervisor(LaunchPlan plan, int control_fd, std::vector<int> own_fds)
    : plan_(std::move(plan)),
      control_fd_(control_fd),
      own_fds_(std::move(own_fds)),
      child_signal_fd_(ChildSignalFd()) {
  loop_.Watch(control_fd_, [this] { OnControl(); });
  loop_.Watch(child_signal_fd_, [this] { OnChildren(); });
}

Supervisor::~Supervisor() { close(child_signal_fd_); }

absl::StatusOr<LaunchResult> Supervisor::Run() {
  absl::Status started = StartCoordinator();
  if (started.ok()) started = StartProcesses();
  if (started.ok()) {
    reporter_ =
        std::make_unique<cli::RankReporter>(plan_.places.coordinator.ToString(), plan_.places.job);
  }
  while (started.ok() && !AllEnded()) Step();
  if (reporter_ != nullptr) reporter_->Flush(kReportPatience);
  if (coordinator_ != nullptr && !coordinator_ended_) coordinator_->Stop(kCoordinatorStop);
  cli::KillDescendants();  // what the processes have left in the background
  coordinator_.reset();
  if (!started.ok()) return started;
  return std::move(result_);
}

// ---- Starting ----

absl::Status Supervisor::StartCoordinator() {
  if (!plan_.coordinator) return absl::OkStatus();
  auto started = cli::CoordinatorProcess::Start(*plan_.coordinator, OwnStderr);
  if (!started.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot start the coordinator: ", started.status().message()));
  }
  coordinator_ = *std::move(started);
  return AwaitCoordinator();
}

absl::Status Supervisor::AwaitCoordinator() {
  const std::string name = absl::StrCat("the coordinator (", plan_.coordinator->musterd, ") ");
  const absl::Time deadline = SteadyNow() + kCoordinatorStart;
  while (SteadyNow() < deadline) {
    if (coordinator_ended_) {
      return absl::UnavailableError(absl::StrCat(name, "ended before it listened at ",
                                                 plan_.coordinator->listen.ToString(),
                                                 "; its reason is on standard error"));
    }
    if (user_signal_) {
      return absl::CancelledError(
          absl::StrCat("got ", cli::SignalName(*user_signal_), " before any process was started"));
    }
    if (const std::optional<cli::HostPort> address = coordinator_->Address()) {
      plan_.places.coordinator = *address;
      return absl::OkStatus();
    }
    loop_.Poll(kCoordinatorPoll);
  }
  return absl::UnavailableError(
      absl::StrCat(name, "did not listen within ", absl::FormatDuration(kCoordinatorStart)));
}

absl::Status Supervisor::StartProcesses() {
  std::vector<int> own_fds = own_fds_;
  own_fds.push_back(child_signal_fd_);
  for (int local_rank = 0; local_rank < plan_.places.nproc_per_node; ++local_rank) {
    const int rank = plan_.places.GlobalRank(local_rank);
    const absl::StatusOr<ForkedProcess> started = ForkPlaced(
        plan_.places, local_rank, own_fds, [this, local_rank] { return plan_.body(local_rank); });
    if (!started.ok()) {
      return absl::Status(started.status().code(),
                          absl::StrCat("cannot start rank ", rank, ": ", started.status().message(),
                                       "; see 'ulimit -u' and 'ulimit -n' for the limits"));
    }
    forks_.push_back(*started);
    own_fds.push_back(started->report_fd);
    LaunchedProcess& process = result_.processes.emplace_back();
    process.rank = rank;
    process.local_rank = local_rank;
    process.pid = started->pid;
  }
  return absl::OkStatus();
}

// ---- Running ----

void Supervisor::Step() {
  loop_.Poll(deadline_ - SteadyNow());
  if (SteadyNow() >= deadline_) Escalate();
}

void Supervisor::Enter(Phase phase, absl::Duration from_now) {
  phase_ = phase;
  deadline_ = SteadyNow() + from_now;
}

void Supervisor::Escalate() {
  if (phase_ == Phase::kFailed) {
    Enter(Phase::kSignalled, plan_.grace);
    SignalAll(SIGTERM);
  } else if (phase_ == Phase::kSignalled) {
    Enter(Phase::kKilled, absl::InfiniteDuration());
    SignalAll(SIGKILL);
  }
}

void Supervisor::OnControl() {
  unsigned char signal = 0;
  const ssize_t size = read(control_fd_, &signal, 1);
  if (size < 0) return;
  if (size == 1) return OnUserSignal(signal);
  // The program was killed; nobody is left who could take the result.
  cli::KillDescendants();
  coordinator_.reset();  // and its directory
  _exit(1);
}

void Supervisor::OnUserSignal(int signal) {
  if (user_signal_) {
    Enter(Phase::kKilled, absl::InfiniteDuration());
    return SignalAll(SIGKILL);
  }
  user_signal_ = signal;
  if (phase_ < Phase::kSignalled) Enter(Phase::kSignalled, plan_.grace);
  SignalAll(signal);
}

void Supervisor::OnChildren() {
  signalfd_siginfo info;
  while (read(child_signal_fd_, &info, sizeof(info)) > 0) {
  }
  // Everything that has ended: processes, the coordinator, and orphans that have become children;
  // and everything that was stopped or goes on.
  int wait_status = 0;
  for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    if (WIFSTOPPED(wait_status) || WIFCONTINUED(wait_status)) {
      OnStopped(pid, WIFSTOPPED(wait_status));
    } else {
      OnEnd(pid, wait_status);
    }
  }
}

void Supervisor::OnStopped(pid_t pid, bool stopped) {
  for (const ForkedProcess& fork : forks_) {
    if (fork.pid == pid && reporter_ != nullptr) {
      reporter_->ReportStopped(fork.incarnation, stopped);
    }
  }
}

void Supervisor::OnEnd(pid_t pid, int wait_status) {
  const cli::ProcessEnd end = cli::FromWaitStatus(wait_status);
  if (coordinator_ != nullptr && pid == coordinator_->pid()) return OnCoordinatorEnd(end);
  for (size_t local_rank = 0; local_rank < forks_.size(); ++local_rank) {
    if (forks_[local_rank].pid == pid) return OnProcessEnd(local_rank, end);
  }
}

void Supervisor::OnCoordinatorEnd(const cli::ProcessEnd& end) {
  coordinator_ended_ = true;
  if (AllEnded() || phase_ != Phase::kRunning) return;
  const std::string what =
      absl::StrCat("the coordinator (musterd, pid ", coordinator_->pid(), ") ", cli::Describe(end));
  const absl::Status started = coordinator_->StartAgain(SteadyNow());
  if (started.ok()) {
    coordinator_ended_ = false;
    return Log(LogLevel::kWarning, absl::StrCat(what, "; started again as pid ",
                                                coordinator_->pid(), ", and the ranks go on"));
  }
  result_.coordinator = absl::UnavailableError(
      absl::StrCat(what, " and is not started again (", started.message(), ")"));
  Enter(Phase::kFailed, plan_.failure_wait);
}

void Supervisor::OnProcessEnd(size_t local_rank, const cli::ProcessEnd& end) {
  reporter_->ReportEnd(forks_[local_rank].incarnation, end);
  LaunchedProcess& process = result_.processes[local_rank];
  process.status = StatusOf(end, TakeReport(forks_[local_rank].report_fd));
  process.exit_status = end.signaled ? -1 : end.code;
  if (end.signaled) process.signal = end.code;
  process.was_ended = phase_ >= Phase::kSignalled && !process.status.ok();
  forks_[local_rank].pid = -1;
  if (process.status.ok()) return;
  if (!result_.first_failed_rank) result_.first_failed_rank = process.rank;
  if (phase_ == Phase::kRunning) Enter(Phase::kFailed, plan_.failure_wait);
}

void Supervisor::SignalAll(int signal) {
  // The group, as a terminal does: it holds what the process has started.
  for (const ForkedProcess& fork : forks_) {
    if (fork.pid <= 0) continue;
    kill(-fork.pid, signal);
    kill(-fork.pid, SIGCONT);  // a stopped process takes no other signal
  }
}

bool Supervisor::AllEnded() const {
  return std::all_of(forks_.begin(), forks_.end(),
                     [](const ForkedProcess& fork) { return fork.pid <= 0; });
}

}  // namespace muster::internal
