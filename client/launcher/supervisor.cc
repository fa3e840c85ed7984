#include "client/launcher/supervisor.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "client/launcher/plan/node_name.h"
#include "client/launcher/process/cleanup.h"
#include "client/launcher/process/process_tree.h"
#include "client/launcher/process/signal_relay.h"
#include "client/observe/bundle/bundle.h"
#include "common/process/exit_codes.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

// The poll interval for processes that are not children, whose end no signal announces.
constexpr absl::Duration kPollInterval = absl::Milliseconds(50);
// For a bundle: longer than the time to gather it and to wait for the verdict.
constexpr absl::Duration kBundlePatience = absl::Seconds(30);
constexpr absl::Duration kBundleAnnounceDelay = absl::Seconds(1);
// Time for this process's threads to notice that their calls were cancelled.
constexpr absl::Duration kClosePatience = absl::Seconds(1);
// How long a rank has to exit after MPI_Abort(). MPICH 5 does so in milliseconds. MPICH 4.0 waits
// until it is killed.
constexpr absl::Duration kAbortPatience = absl::Milliseconds(200);

}  // namespace

Supervisor::Supervisor(JobPlan plan, RankStarter* starter, EventLoop* loop, int control_fd)
    : plan_(std::move(plan)),
      starter_(starter),
      loop_(loop),
      control_fd_(control_fd),
      node_(NodeNameOf(plan_)),
      child_signal_fd_(ChildSignalFd()),
      coordinator_(starter, loop, &signals_,
                   [this](const ProcessEnd& end) { OnCoordinatorGivenUp(end); }),
      store_(&plan_),
      mpi_(MakeMpiServer(&plan_, &store_, loop,
                         {[this](const std::string& text) { Say(text); },
                          [this](int local_rank) { OnExpelled(local_rank); },
                          [this](int local_rank, const MpiFault& fault) {
                            recovery_.OnMpiFault(local_rank, fault);
                          },
                          [this](const pmi::WorldEnd& end) { OnWorldEnded(end); }})),
      torch_(&plan_, &store_, loop, [this](const std::string& text) { Say(text); }),
      ranks_(&plan_, starter, loop, &coordinator_, mpi_.get(), &torch_,
             [this](pid_t pid, int wait_status) { OnEnd(pid, wait_status); }),
      outcome_(plan_.job, node_),
      shutdown_(&plan_, &ranks_, &outcome_, starter),
      link_(&plan_, &ranks_, loop, starter),
      recovery_(&plan_, &ranks_, &outcome_, &shutdown_, &link_, mpi_.get(), starter) {
  loop_->Watch(control_fd_, [this] { OnControl(); });
  loop_->Watch(child_signal_fd_, [this] { OnChildren(); });
}

Supervisor::~Supervisor() {
  loop_->Forget(control_fd_);
  loop_->Forget(child_signal_fd_);
  close(child_signal_fd_);
}

absl::Status Supervisor::Run() {
  absl::Status started = Start();
  if (!started.ok()) shutdown_.OnNotStarted();
  while (started.ok() && Active()) Step();
  link_.Flush();
  mpi_->Flush();
  recovery_.OnLosses();
  AwaitBundle();
  EndLeftovers();
  torch_.Close();
  store_.Close();  // or the coordinator would wait for it in its drain
  StopCoordinator();
  return started;
}

absl::Status Supervisor::Start() {
  if (absl::Status started = coordinator_.Start(&plan_); !started.ok()) return started;
  if (absl::Status started = ranks_.StartAll(); !started.ok()) {
    ReportNotStarted(plan_, std::string(started.message()));
    return started;
  }
  link_.Open({[this] { recovery_.OnLosses(); },
              [this](const std::string& reason) { OnJobFailed(reason); }});
  return absl::OkStatus();
}

void Supervisor::Step() {
  const absl::Duration poll_interval =
      recovery_.polling() ? kPollInterval : absl::InfiniteDuration();
  const bool warns = shutdown_.running() && !suspended_;
  const absl::Time next_warning = warns ? mpi_->next_warning() : absl::InfiniteFuture();
  const absl::Time next = std::min({shutdown_.next(), CoordinatorStart(), next_warning});
  loop_->Poll(std::min(next - SteadyNow(), poll_interval));
  shutdown_.Step();
  if (SteadyNow() >= next_warning && shutdown_.running()) mpi_->Warn();
  if (SteadyNow() >= CoordinatorStart()) coordinator_.StartAgain();
  recovery_.Step(suspended_);
}

absl::Time Supervisor::CoordinatorStart() const {
  return suspended_ || !shutdown_.running() ? absl::InfiniteFuture() : coordinator_.next_start();
}

// ---- Signals ----

void Supervisor::OnControl() {
  unsigned char signal = 0;
  const ssize_t size = read(control_fd_, &signal, 1);
  if (size < 0) return;
  if (size == 1) return OnSignal(signal);
  // The launcher was killed. No process is left to wait for a graceful end.
  KillDescendants([] { return Leftovers{Descendants(getpid()), {}}; });
  coordinator_.Abandon();
  mpi_->RemoveFiles();
  _exit(exit_codes::kFailed);
}

void Supervisor::OnSignal(int signal) {
  if (signal == SIGTSTP) return Suspend();
  if (signal == SIGCONT) return Resume();
  if (signal == SIGWINCH) starter_->WindowChanged();
  if (!IsEndingSignal(signal)) return ranks_.Signal(signal);
  OnEndingSignal(signal);
}

void Supervisor::OnEndingSignal(int signal) {
  signals_.Add(signal);
  if (!Active()) return;
  if (suspended_) Resume();
  shutdown_.OnEndingSignal(signal, signals_.count());
}

void Supervisor::Suspend() {
  const std::vector<int> living = ranks_.Living();
  if (living.empty() || std::exchange(suspended_, true)) return;
  Say(absl::StrCat("got SIGTSTP; ", NamedRanks(living), living.size() == 1 ? " is" : " are",
                   " stopped until SIGCONT"));
  // Uses SIGSTOP, because a rank may ignore SIGTSTP. Stops the coordinator too, which would
  // otherwise treat the silent ranks as lost.
  ranks_.Signal(SIGSTOP);
  coordinator_.Signal(SIGSTOP);
}

void Supervisor::Resume() {
  suspended_ = false;
  coordinator_.Signal(SIGCONT);
  ranks_.Signal(SIGCONT);
}

// ---- Processes ----

void Supervisor::OnChildren() {
  signalfd_siginfo info;
  while (read(child_signal_fd_, &info, sizeof(info)) > 0) {
  }
  // Reaps all children that have ended: ranks, the coordinator and adopted orphans. Also notes
  // children that were stopped or continued.
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
  RankTable::Place* const place = ranks_.Find(pid);
  if (place == nullptr || !link_.open()) return;
  if (stopped && observe::IsBeingDebugged(pid)) return;  // a debugger stopped it for a bundle
  if (!suspended_ || !plan_.hosted) link_.ReportStopped(*place, stopped);
  if (suspended_ || !RankTable::NoteStopped(place, stopped)) return;
  Say(absl::StrCat("rank ", place->rank, " (pid ", pid, ", node ", node_, ") ",
                   stopped ? "is stopped; SIGCONT continues it" : "was continued"));
}

void Supervisor::OnEnd(pid_t pid, int wait_status) {
  const ProcessEnd end = FromWaitStatus(wait_status);
  if (pid == coordinator_.pid()) return coordinator_.OnEnd(end, CoordinatorIsNeeded());
  if (RankTable::Place* place = ranks_.Find(pid)) recovery_.OnEnd(place, end);
}

void Supervisor::OnCoordinatorGivenUp(const ProcessEnd& end) {
  outcome_.CoordinatorLost(end);
  shutdown_.BeginFailure(std::string(coordinator_.status().message()));
}

void Supervisor::OnJobFailed(const std::string& reason) {
  if (!shutdown_.running() || !Active()) return;
  outcome_.FailedElsewhere(reason);
  shutdown_.BeginFailure("the job has failed");
}

// Ranks here may have failed since then, for want of the others.
void Supervisor::OnWorldEnded(const pmi::WorldEnd& end) {
  if (end.restarts && recovery_.OnWorldRestart(end.why)) return;
  if (end.restarts) {
    mpi_->RefuseRestart(absl::StrCat("muster run on node ", node_,
                                     " does not start its ranks again, after ", end.why));
  }
  if (!Active() && outcome_.ExitStatus() == 0) return;  // the ranks here had done their part
  outcome_.WorldEndedElsewhere(end.why, end.abort_code);
  if (!shutdown_.running() || !Active()) return;
  shutdown_.BeginFailure(end.why, end.abort_code ? absl::ZeroDuration() : plan_.failure_wait);
}

void Supervisor::OnExpelled(int local_rank) {
  loop_->At(SteadyNow() + kAbortPatience, [this, pid = ranks_.At(local_rank).pid] {
    if (ranks_.Find(pid) != nullptr) kill(-pid, SIGKILL);
  });
}

// ---- Ending ----

void Supervisor::AwaitBundle() {
  const absl::Time began = SteadyNow();
  bool announced = false;
  while (link_.writing_bundle() && signals_.count() == 0 && SteadyNow() < began + kBundlePatience) {
    loop_->Poll(kPollInterval);
    if (announced || SteadyNow() < began + kBundleAnnounceDelay) continue;
    announced = true;
    Say(absl::StrCat("waiting until the inspection of the hang is written to ", plan_.debug_dir,
                     ", ", absl::FormatDuration(kBundlePatience), " at most"));
  }
  link_.PrintMessages();
}

void Supervisor::EndLeftovers() {
  Cleanup cleanup = ranks_.CleanUpAfterAll();
  if (shutdown_.killed()) cleanup.SkipGrace();
  const int signals_before = signals_.count();
  while (!cleanup.Step(SteadyNow())) {
    loop_->Poll(kPollInterval);
    if (signals_.count() != signals_before) cleanup.SkipGrace();
  }
}

void Supervisor::StopCoordinator() {
  if (!coordinator_.running()) return;
  // The other nodes need the coordinator too. Only it can tell them of a failure.
  if (outcome_.ExitStatus() != 0) coordinator_.AwaitEnd(link_.FailureDelay());
  if (!coordinator_.running()) return;
  link_.Close(kClosePatience);
  coordinator_.Stop();
}

}  // namespace muster::launcher
