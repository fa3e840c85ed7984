#include "client/cli/supervisor.h"

#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/environment.h"
#include "client/cli/process_tree.h"
#include "client/cli/rank_ranges.h"
#include "client/cli/spawn.h"

namespace muster::cli {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;
constexpr size_t kIncarnationBytes = 16;
constexpr absl::Duration kCoordinatorPoll = absl::Milliseconds(5);
constexpr absl::Duration kCoordinatorStart = absl::Seconds(30);
constexpr absl::Duration kCoordinatorStop = absl::Seconds(2);
constexpr absl::Duration kReportPatience = absl::Seconds(1);
constexpr absl::Duration kFlushPatience = absl::Seconds(1);
constexpr absl::Duration kKillPatience = absl::Seconds(5);

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

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
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// glibc 2.36 declares pidfd_open() in a way that C++ cannot link.
int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

std::string NewIncarnation() {
  std::string bytes(kIncarnationBytes, '\0');
  while (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  return bytes;
}

// What a shell exits with when it cannot execute a program.
int StatusOfFailedStart(const absl::Status& status) {
  if (absl::IsNotFound(status)) return kExitNotFound;
  return absl::IsPermissionDenied(status) ? kExitNotExecutable : kExitFailure;
}

}  // namespace

Supervisor::Supervisor(LaunchPlan plan, std::string program, std::string musterd, int control_fd)
    : plan_(std::move(plan)),
      program_(std::move(program)),
      musterd_(std::move(musterd)),
      control_fd_(control_fd),
      node_(plan_.node_id.empty() ? HostName() : plan_.node_id),
      output_(&loop_),
      child_signal_fd_(ChildSignalFd()),
      logs_(plan_.nproc_per_node),
      ranks_(plan_.nproc_per_node),
      outcome_(plan_.job, node_) {
  loop_.Watch(control_fd_, [this] { OnControl(); });
  loop_.Watch(child_signal_fd_, [this] { OnChildren(); });
}

Supervisor::~Supervisor() { close(child_signal_fd_); }

int Supervisor::Run() {
  absl::Status started = OpenLogs();
  if (started.ok()) started = StartCoordinator();
  if (started.ok()) started = StartRanks();
  if (!started.ok()) {
    output_.Say(std::string(started.message()));
    return Finish(user_signal_ ? ShellStatus({true, *user_signal_}) : StatusOfFailedStart(started));
  }
  while (!LivingRanks().empty()) Step();
  return Finish(outcome_.ExitStatus());
}

// ---- Starting ----

absl::Status Supervisor::OpenLogs() {
  if (plan_.log_dir.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(plan_.log_dir, error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("--log-dir: cannot make ", plan_.log_dir, ": ", error.message()));
  }
  for (int local_rank = 0; local_rank < plan_.nproc_per_node; ++local_rank) {
    const absl::StatusOr<int> log = output_.OpenLog(
        absl::StrCat(plan_.log_dir, "/rank-", plan_.GlobalRank(local_rank), ".log"));
    if (!log.ok())
      return absl::UnavailableError(absl::StrCat("--log-dir: ", log.status().message()));
    logs_[local_rank] = *log;
  }
  return absl::OkStatus();
}

absl::Status Supervisor::StartCoordinator() {
  if (plan_.coordinator) {
    coordinator_ = *plan_.coordinator;
  } else {
    absl::StatusOr<std::unique_ptr<OwnCoordinator>> started =
        OwnCoordinator::Start(musterd_, plan_, &output_);
    if (!started.ok()) {
      return absl::UnavailableError(
          absl::StrCat("cannot start the coordinator: ", started.status().message()));
    }
    own_coordinator_ = *std::move(started);
    if (absl::Status status = AwaitCoordinator(); !status.ok()) return status;
  }
  reporter_ = std::make_unique<ExitReporter>(coordinator_.ToString(), plan_.job);
  return absl::OkStatus();
}

absl::Status Supervisor::AwaitCoordinator() {
  const absl::Time deadline = SteadyNow() + kCoordinatorStart;
  while (SteadyNow() < deadline) {
    if (const std::optional<HostPort> address = own_coordinator_->Address()) {
      coordinator_ = *address;
      return absl::OkStatus();
    }
    if (own_coordinator_end_) {
      return absl::UnavailableError(absl::StrCat("the coordinator (", musterd_, ") ",
                                                 Describe(*own_coordinator_end_),
                                                 " before it listened; no rank was started"));
    }
    if (user_signal_) {
      return absl::CancelledError(
          absl::StrCat("got ", SignalName(*user_signal_), " before any rank was started"));
    }
    loop_.Poll(kCoordinatorPoll);
  }
  return absl::DeadlineExceededError(absl::StrCat("the coordinator (", musterd_,
                                                  ") did not listen within ",
                                                  absl::FormatDuration(kCoordinatorStart)));
}

absl::Status Supervisor::StartRanks() {
  for (int local_rank = 0; local_rank < plan_.nproc_per_node; ++local_rank) {
    const absl::Status status = StartRank(local_rank);
    if (status.ok()) continue;
    const char* hint =
        absl::IsResourceExhausted(status) ? "; see 'ulimit -n' and 'ulimit -u' for the limits" : "";
    return absl::Status(status.code(),
                        absl::StrCat("cannot start rank ", plan_.GlobalRank(local_rank), ": ",
                                     status.message(), hint));
  }
  return absl::OkStatus();
}

absl::Status Supervisor::StartRank(int local_rank) {
  Rank& rank = ranks_[local_rank];
  rank.rank = plan_.GlobalRank(local_rank);
  rank.name = absl::StrCat("rank ", rank.rank);
  rank.incarnation = NewIncarnation();
  const absl::StatusOr<pid_t> pid = SpawnRank(local_rank, rank);
  if (!pid.ok()) return pid.status();
  rank.pid = *pid;
  WatchEnd(&rank);
  return absl::OkStatus();
}

absl::StatusOr<pid_t> Supervisor::SpawnRank(int local_rank, const Rank& rank) {
  const std::string prefix = plan_.prefix ? absl::StrCat("[", rank.rank, "] ") : "";
  const absl::StatusOr<int> out =
      output_.OpenPipe(rank.name, Output::Stream::kStdout, prefix, logs_[local_rank]);
  if (!out.ok()) return out.status();
  const absl::StatusOr<int> err =
      output_.OpenPipe(rank.name, Output::Stream::kStderr, prefix, logs_[local_rank]);
  if (!err.ok()) close(*out);
  if (!err.ok()) return err.status();
  const absl::StatusOr<pid_t> pid = Spawn(
      {program_, plan_.program,
       RankEnvironment(plan_, coordinator_, local_rank, rank.incarnation, CurrentEnvironment()),
       *out, *err});
  close(*out);
  close(*err);
  return pid;
}

// ---- Running ----

void Supervisor::Step() {
  loop_.Poll(deadline_ - SteadyNow());
  if (SteadyNow() >= deadline_) Escalate();
}

void Supervisor::SetDeadline(absl::Duration from_now) { deadline_ = SteadyNow() + from_now; }

void Supervisor::Escalate() {
  switch (phase_) {
    case Phase::kRunning:
      return;
    case Phase::kFailed:
      phase_ = Phase::kSignalled;
      SetDeadline(plan_.grace);
      return SignalRanks(SIGTERM);
    case Phase::kSignalled:
      output_.Say(absl::StrCat(NamedRanks(LivingRanks()), " did not end; sending SIGKILL"));
      phase_ = Phase::kKilled;
      SetDeadline(kKillPatience);
      return SignalRanks(SIGKILL);
    case Phase::kKilled:
      output_.Say(absl::StrCat(NamedRanks(LivingRanks()),
                               " did not end on SIGKILL: in an uninterruptible system call (a "
                               "driver, a file system?); still waiting"));
      phase_ = Phase::kStillThere;
      deadline_ = absl::InfiniteFuture();
      return;
    case Phase::kStillThere:
      return;
  }
}

void Supervisor::OnControl() {
  unsigned char signal = 0;
  const ssize_t size = read(control_fd_, &signal, 1);
  if (size < 0) return;
  if (size == 1) return OnUserSignal(signal);
  // The launcher was killed. Nobody is left who could read the rest of the output.
  KillDescendants();
  own_coordinator_.reset();  // and its directory
  _exit(kExitFailure);
}

void Supervisor::OnUserSignal(int signal) {
  ++user_signals_;
  const std::vector<int> living = LivingRanks();
  if (user_signals_ > 1 && !living.empty()) return OnRepeatedSignal(signal);
  user_signal_ = signal;
  if (living.empty()) return;
  outcome_.Interrupted(signal);
  output_.Say(absl::StrCat("got ", SignalName(signal), "; passing it on to ", NamedRanks(living),
                           ", SIGKILL follows in ", absl::FormatDuration(plan_.grace),
                           " or at a second signal"));
  if (phase_ < Phase::kSignalled) {
    phase_ = Phase::kSignalled;
    SetDeadline(plan_.grace);
  }
  SignalRanks(signal);
}

void Supervisor::OnRepeatedSignal(int signal) {
  if (phase_ >= Phase::kKilled) return;
  output_.Say(absl::StrCat("got ", SignalName(signal), " again; sending SIGKILL"));
  phase_ = Phase::kKilled;
  SetDeadline(kKillPatience);
  SignalRanks(SIGKILL);
}

void Supervisor::OnChildren() {
  signalfd_siginfo info;
  while (read(child_signal_fd_, &info, sizeof(info)) > 0) {
  }
  // Everything that has ended: ranks, the coordinator, and orphans that have become children.
  int wait_status = 0;
  for (pid_t pid; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) OnEnd(pid, wait_status);
}

void Supervisor::OnEnd(pid_t pid, int wait_status) {
  const ProcessEnd end = FromWaitStatus(wait_status);
  if (own_coordinator_ != nullptr && pid == own_coordinator_->pid()) return OnCoordinatorEnd(end);
  for (Rank& rank : ranks_) {
    if (rank.pid == pid && !rank.ended) return OnRankEnd(&rank, end);
  }
}

void Supervisor::OnRankEnd(Rank* rank, const ProcessEnd& end) {
  rank->ended = true;
  if (rank->pidfd >= 0) {
    loop_.Forget(rank->pidfd);
    close(rank->pidfd);
  }
  output_.Drain(rank->name);  // its last words come before ours
  reporter_->Report(rank->incarnation, end);
  const RankEnd rank_end = {rank->rank, rank->pid, end, phase_ >= Phase::kSignalled};
  outcome_.Add(rank_end);
  if (!end.clean() && phase_ == Phase::kRunning) BeginFailure(outcome_.Sentence(rank_end));
}

void Supervisor::OnCoordinatorEnd(const ProcessEnd& end) {
  own_coordinator_end_ = end;
  if (LivingRanks().empty() || phase_ != Phase::kRunning) return;
  outcome_.CoordinatorLost(end);
  BeginFailure(
      absl::StrCat("the coordinator (musterd, pid ", own_coordinator_->pid(), ") ", Describe(end)));
}

void Supervisor::BeginFailure(const std::string& what) {
  const std::vector<int> others = LivingRanks();
  if (others.empty()) return;  // the summary says it all
  output_.Say(absl::StrCat(what, "; ending ", NamedRanks(others), ": SIGTERM in ",
                           absl::FormatDuration(plan_.failure_wait), ", SIGKILL ",
                           absl::FormatDuration(plan_.grace), " later"));
  phase_ = Phase::kFailed;
  SetDeadline(plan_.failure_wait);
}

void Supervisor::SignalRanks(int signal) {
  // The group, as a terminal does: a shell that runs the program for us passes nothing on.
  for (const Rank& rank : ranks_) {
    if (rank.pid <= 0 || rank.ended) continue;
    kill(-rank.pid, signal);
    kill(-rank.pid, SIGCONT);  // a stopped process takes no other signal
  }
}

void Supervisor::WatchEnd(Rank* rank) {
  // SIGCHLD alone would do, but of several ranks that have ended meanwhile it does not tell which
  // was the first.
  rank->pidfd = OpenPidfd(rank->pid);
  if (rank->pidfd < 0) return;
  loop_.Watch(rank->pidfd, [this, pid = rank->pid] {
    int wait_status = 0;
    if (waitpid(pid, &wait_status, WNOHANG) == pid) OnEnd(pid, wait_status);
  });
}

std::vector<int> Supervisor::LivingRanks() const {
  std::vector<int> living;
  for (const Rank& rank : ranks_) {
    if (rank.pid > 0 && !rank.ended) living.push_back(rank.rank);
  }
  return living;
}

int Supervisor::Finish(int status) {
  if (reporter_ != nullptr) reporter_->Flush(kReportPatience);
  if (own_coordinator_ != nullptr && !own_coordinator_end_)
    own_coordinator_->Stop(kCoordinatorStop);
  KillDescendants();  // what ranks have left in the background
  output_.Finish();
  if (const std::string summary = outcome_.Summary(); !summary.empty()) output_.Say(summary);
  AwaitFlush();
  return status;
}

void Supervisor::AwaitFlush() {
  // A reader that has stopped must not hold a user who wants to leave.
  const int signals_before = user_signals_;
  const absl::Time give_up =
      user_signals_ > 1 ? SteadyNow() + kFlushPatience : absl::InfiniteFuture();
  while (!output_.Flushed() && user_signals_ == signals_before && SteadyNow() < give_up) {
    loop_.Poll(give_up - SteadyNow());
  }
}

}  // namespace muster::cli
