#include "client/cli/supervisor.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/process_tree.h"
#include "client/cli/rank_ranges.h"

namespace muster::cli {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
constexpr int kExitFailure = 1;
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;
constexpr absl::Duration kCoordinatorPoll = absl::Milliseconds(5);
constexpr absl::Duration kCoordinatorStart = absl::Seconds(30);
constexpr absl::Duration kCoordinatorStop = absl::Seconds(2);
constexpr absl::Duration kReportPatience = absl::Seconds(1);
constexpr absl::Duration kFlushPatience = absl::Seconds(1);
// Of log files that nothing more goes into, at the end of the run.
constexpr absl::Duration kLogPatience = absl::Seconds(10);
constexpr absl::Duration kLogPoll = absl::Milliseconds(20);
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

std::vector<std::string> CoordinatorFlags(const LaunchPlan& plan) {
  std::vector<std::string> flags = {absl::StrCat("--job=", plan.job)};
  if (plan.elastic()) {
    flags.push_back(absl::StrCat("--min-world-size=", plan.min_world_size));
    flags.push_back(absl::StrCat("--max-world-size=", plan.max_world_size));
  } else {
    flags.push_back(absl::StrCat("--world-size=", plan.world_size()));
  }
  if (!plan.settle.empty()) flags.push_back(absl::StrCat("--settle=", plan.settle));
  return flags;
}

// What a shell exits with when it cannot execute a program.
int StatusOfFailedStart(const absl::Status& status) {
  if (absl::IsNotFound(status)) return kExitNotFound;
  return absl::IsPermissionDenied(status) ? kExitNotExecutable : kExitFailure;
}

}  // namespace

Supervisor::Supervisor(LaunchPlan plan, std::string program, std::string musterd, int control_fd)
    : plan_(std::move(plan)),
      musterd_(std::move(musterd)),
      control_fd_(control_fd),
      node_(plan_.node_id.empty() ? HostName() : plan_.node_id),
      output_(&loop_, [this] { OnReaderGone(); }),
      child_signal_fd_(ChildSignalFd()),
      ranks_(&plan_, std::move(program), &loop_, &output_,
             [this](pid_t pid, int wait_status) { OnEnd(pid, wait_status); }),
      outcome_(plan_.job, node_) {
  loop_.Watch(control_fd_, [this] { OnControl(); });
  loop_.Watch(child_signal_fd_, [this] { OnChildren(); });
}

Supervisor::~Supervisor() { close(child_signal_fd_); }

int Supervisor::Run() {
  absl::Status started = ranks_.OpenLogs();
  if (started.ok()) started = StartCoordinator();
  if (started.ok()) started = StartRanks();
  if (!started.ok()) {
    output_.Say(std::string(started.message()));
    Finish();
    return user_signal_ ? ShellStatus({true, *user_signal_}) : StatusOfFailedStart(started);
  }
  while (!ranks_.Living().empty()) Step();
  Finish();
  const int status = outcome_.ExitStatus();
  return status == 0 && output_.lost() ? kExitFailure : status;
}

// ---- Starting ----

absl::Status Supervisor::StartCoordinator() {
  if (plan_.coordinator) {
    coordinator_ = *plan_.coordinator;
  } else {
    absl::StatusOr<std::unique_ptr<CoordinatorProcess>> started =
        CoordinatorProcess::Start({musterd_, {kLoopback, 0}, CoordinatorFlags(plan_)}, [this] {
          return output_.OpenPipe("musterd", Output::Stream::kStderr, "[musterd] ", std::nullopt);
        });
    if (!started.ok()) {
      return absl::UnavailableError(
          absl::StrCat("cannot start the coordinator: ", started.status().message()));
    }
    own_coordinator_ = *std::move(started);
    if (absl::Status status = AwaitCoordinator(); !status.ok()) return status;
  }
  reporter_ = std::make_unique<RankReporter>(coordinator_.ToString(), plan_.job);
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
    if (absl::Status status = ranks_.Start(local_rank, coordinator_); !status.ok()) return status;
  }
  return absl::OkStatus();
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
      return ranks_.Signal(SIGTERM);
    case Phase::kSignalled:
      output_.Say(absl::StrCat(NamedRanks(ranks_.Living()), " did not end; sending SIGKILL"));
      phase_ = Phase::kKilled;
      SetDeadline(kKillPatience);
      return ranks_.Signal(SIGKILL);
    case Phase::kKilled:
      output_.Say(absl::StrCat(NamedRanks(ranks_.Living()),
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

void Supervisor::OnReaderGone() {
  outcome_.ReaderGone();
  const std::vector<int> living = ranks_.Living();
  if (living.empty() || phase_ >= Phase::kSignalled) return;
  output_.Say(absl::StrCat("nobody reads the output any more; ending ", NamedRanks(living),
                           ": SIGTERM now, SIGKILL in ", absl::FormatDuration(plan_.grace)));
  phase_ = Phase::kSignalled;
  SetDeadline(plan_.grace);
  ranks_.Signal(SIGTERM);
}

void Supervisor::OnUserSignal(int signal) {
  ++user_signals_;
  const std::vector<int> living = ranks_.Living();
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
  ranks_.Signal(signal);
}

void Supervisor::OnRepeatedSignal(int signal) {
  if (phase_ >= Phase::kKilled) return;
  output_.Say(absl::StrCat("got ", SignalName(signal), " again; sending SIGKILL"));
  phase_ = Phase::kKilled;
  SetDeadline(kKillPatience);
  ranks_.Signal(SIGKILL);
}

void Supervisor::OnChildren() {
  signalfd_siginfo info;
  while (read(child_signal_fd_, &info, sizeof(info)) > 0) {
  }
  // Everything that has ended: ranks, the coordinator, and orphans that have become children; and
  // everything that was stopped or goes on.
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
  const RankProcesses::Process* process = ranks_.Find(pid);
  if (process == nullptr) return;
  reporter_->ReportStopped(process->incarnation, stopped);
  output_.Say(absl::StrCat(process->name, " (pid ", pid, ", node ", node_, ") ",
                           stopped ? "is stopped; it goes on at SIGCONT" : "goes on"));
}

void Supervisor::OnEnd(pid_t pid, int wait_status) {
  const ProcessEnd end = FromWaitStatus(wait_status);
  if (own_coordinator_ != nullptr && pid == own_coordinator_->pid()) return OnCoordinatorEnd(end);
  if (RankProcesses::Process* process = ranks_.Find(pid)) OnRankEnd(process, end);
}

void Supervisor::OnRankEnd(RankProcesses::Process* process, const ProcessEnd& end) {
  ranks_.Reap(process);  // its last words come before ours
  reporter_->ReportEnd(process->incarnation, end);
  RankEnd rank_end = {process->rank, process->pid, end, phase_ >= Phase::kSignalled};
  const bool failed = !end.clean() && phase_ == Phase::kRunning;
  rank_end.forgiven = failed && Forgive(*process, rank_end);
  outcome_.Add(rank_end);
  if (failed && !rank_end.forgiven) BeginFailure(outcome_.Sentence(rank_end));
}

bool Supervisor::Forgive(const RankProcesses::Process& process, const RankEnd& end) {
  if (Restart(process, end)) return true;
  const int left = static_cast<int>(ranks_.Living().size()) + outcome_.clean_ends();
  if (plan_.min_world_size >= plan_.world_size() || left < plan_.min_world_size) return false;
  output_.Say(absl::StrCat(outcome_.Sentence(end), "; the job goes on with ", left, " of ",
                           plan_.world_size(), " ranks"));
  return true;
}

bool Supervisor::Restart(const RankProcesses::Process& process, const RankEnd& end) {
  // Where a rank has left the job in peace the job is over, and would not take another.
  if (restarts_ == plan_.max_restarts || outcome_.clean_ends() > 0) return false;
  ++restarts_;
  const absl::Status started = ranks_.Start(process.local_rank, coordinator_);
  const std::string what = absl::StrCat(outcome_.Sentence(end), "; ");
  if (!started.ok()) {
    output_.Say(absl::StrCat(what, started.message()));
    return false;
  }
  output_.Say(absl::StrCat(what, "started again as pid ", process.pid, " (restart ", restarts_,
                           " of at most ", plan_.max_restarts, ")"));
  return true;
}

void Supervisor::OnCoordinatorEnd(const ProcessEnd& end) {
  own_coordinator_end_ = end;
  if (ranks_.Living().empty() || phase_ != Phase::kRunning) return;
  RestartCoordinator(
      absl::StrCat("the coordinator (musterd, pid ", own_coordinator_->pid(), ") ", Describe(end)));
}

void Supervisor::RestartCoordinator(const std::string& what) {
  const absl::Status started = own_coordinator_->StartAgain(SteadyNow());
  if (started.ok()) {
    own_coordinator_end_.reset();
    output_.Say(absl::StrCat(what, "; started again as pid ", own_coordinator_->pid(),
                             ", and the ranks go on"));
    return;
  }
  outcome_.CoordinatorLost(*own_coordinator_end_);
  BeginFailure(absl::StrCat(what, " and is not started again (", started.message(), ")"));
}

void Supervisor::BeginFailure(const std::string& what) {
  const std::vector<int> others = ranks_.Living();
  if (others.empty()) return;  // the summary says it all
  output_.Say(absl::StrCat(what, "; ending ", NamedRanks(others), ": SIGTERM in ",
                           absl::FormatDuration(plan_.failure_wait), ", SIGKILL ",
                           absl::FormatDuration(plan_.grace), " later"));
  phase_ = Phase::kFailed;
  SetDeadline(plan_.failure_wait);
}

void Supervisor::Finish() {
  if (reporter_ != nullptr) reporter_->Flush(kReportPatience);
  if (own_coordinator_ != nullptr && !own_coordinator_end_)
    own_coordinator_->Stop(kCoordinatorStop);
  KillDescendants();  // what ranks have left in the background
  output_.Finish();
  if (const std::string summary = outcome_.Summary(); !summary.empty()) output_.Say(summary);
  AwaitOutput();
}

void Supervisor::AwaitOutput() {
  // A reader that has stopped must not hold a user who wants to leave.
  const int signals_before = user_signals_;
  const absl::Time give_up =
      user_signals_ > 1 ? SteadyNow() + kFlushPatience : absl::InfiniteFuture();
  log_deadline_ = SteadyNow() + kLogPatience;
  while (!OutputWritten() && user_signals_ == signals_before && SteadyNow() < give_up) {
    loop_.Poll(std::min(give_up - SteadyNow(), kLogPoll));
  }
}

bool Supervisor::OutputWritten() {
  if (!output_.Shown()) return false;
  const size_t left = output_.unwritten_log_bytes();
  if (left != log_bytes_left_) log_deadline_ = SteadyNow() + kLogPatience;
  log_bytes_left_ = left;
  if (left == 0) return true;
  if (SteadyNow() < log_deadline_) return false;
  output_.Say(absl::StrCat("nothing could be written to ", plan_.log_dir, " for ",
                           absl::FormatDuration(kLogPatience), "; the last ", left,
                           " bytes of the log files are lost"));
  log_deadline_ = absl::InfiniteFuture();
  return output_.Shown();
}

}  // namespace muster::cli
