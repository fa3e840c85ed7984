#include "client/launcher/supervisor.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/launcher/master_port.h"
#include "client/launcher/node_name.h"
#include "client/launcher/process_tree.h"
#include "client/launcher/rank_ranges.h"
#include "client/launcher/signal_relay.h"
#include "client/observe/bundle.h"
#include "common/process_secret.h"
#include "common/steady_now.h"

namespace muster::launcher {
namespace {

constexpr int kExitFailure = 1;
constexpr absl::Duration kKillPatience = absl::Seconds(5);
// Of processes that are not this one's children nobody tells when they end.
constexpr absl::Duration kLookAgain = absl::Milliseconds(50);
// Most ranks end by themselves when another has failed, and the summary tells of that.
constexpr absl::Duration kUntold = absl::Seconds(1);

}  // namespace

Supervisor::Supervisor(JobPlan plan, RankStarter* starter, EventLoop* loop, int control_fd)
    : plan_(std::move(plan)),
      starter_(starter),
      loop_(loop),
      control_fd_(control_fd),
      node_(NodeNameOf(plan_)),
      child_signal_fd_(ChildSignalFd()),
      ranks_(&plan_, starter, loop,
             [this](pid_t pid, int wait_status) { OnEnd(pid, wait_status); }),
      outcome_(plan_.job, node_) {
  loop_->Watch(control_fd_, [this] { OnControl(); });
  loop_->Watch(child_signal_fd_, [this] { OnChildren(); });
}

Supervisor::~Supervisor() {
  loop_->Forget(control_fd_);
  loop_->Forget(child_signal_fd_);
  HangUp(absl::ZeroDuration());
  close(child_signal_fd_);
}

absl::Status Supervisor::Run() {
  absl::Status started = StartCoordinator();
  if (started.ok()) started = StartRanks();
  if (started.ok()) Listen();
  if (!started.ok()) phase_ = Phase::kSignalled;
  while (started.ok() && Active()) Step();
  if (reporter_ != nullptr) {
    reporter_->Flush();
    OnLosses();
  }
  AwaitBundle();
  EndLeftovers();
  StopCoordinator();
  return started;
}

// ---- Starting ----

absl::Status Supervisor::StartRanks() {
  ranks_started_ = SteadyNow();
  picked_master_port_ = !plan_.master_port && plan_.nnodes == 1;
  if (picked_master_port_) plan_.master_port = FreePort();
  for (int local_rank = 0; local_rank < plan_.nproc_per_node; ++local_rank) {
    const absl::Status started = ranks_.Start(local_rank);
    if (!started.ok()) ReportNotStarted(plan_, std::string(started.message()));
    if (!started.ok()) return started;
  }
  return absl::OkStatus();
}

void Supervisor::Listen() {
  reporter_ = std::make_unique<RankReporter>(plan_, clients_);
  if (const absl::Status& started = reporter_->started(); !started.ok()) {
    Say(absl::StrCat("the coordinator is not told how ranks end here, and notices it later: ",
                     started.message()));
  }
  loop_->Watch(reporter_->fd(), [this] { OnLosses(); });
  responder_ = std::make_unique<InquiryResponder>(plan_, clients_, starter_->output_tails());
  TellResponder();
  loop_->Watch(responder_->fd(), [this] {
    for (const std::string& line : responder_->TakeNews()) Say(line);
  });
  if (plan_.nnodes == 1 && plan_.hosted) return;  // there is nobody else
  watch_ = std::make_unique<JobWatch>(plan_, clients_);
  if (const absl::Status& started = watch_->started(); !started.ok()) {
    Say(absl::StrCat("a failure on another node does not end the ranks here: ", started.message()));
  }
  for (int rank : ranks_.Living()) TellOfStart(ranks_.At(rank - plan_.GlobalRank(0)));
  loop_->Watch(watch_->fd(), [this] { OnJobFailed(); });
}

void Supervisor::TellOfStart(const RankTable::Place& place) {
  if (watch_ == nullptr) return;
  watch_->AddOwn(IncarnationOf(place.secret));
  reporter_->ReportStarted(place.secret);
}

// ---- Running ----

void Supervisor::Step() {
  const bool look_again = !restarts_.empty() || !cleanups_.empty() || group_;
  const absl::Duration look = look_again ? kLookAgain : absl::InfiniteDuration();
  const absl::Time next = std::min({deadline_, CoordinatorStart(), tell_failure_});
  loop_->Poll(std::min(next - SteadyNow(), look));
  if (SteadyNow() >= tell_failure_) TellFailure();
  if (SteadyNow() >= deadline_) Escalate();
  if (SteadyNow() >= CoordinatorStart()) StartCoordinatorAgain();
  StepRestarts();
  StepGroupRestart();
  cleanups_.remove_if([](Cleanup& cleanup) { return cleanup.Step(SteadyNow()); });
}

void Supervisor::Enter(Phase phase, absl::Duration from_now) {
  phase_ = phase;
  deadline_ = SteadyNow() + from_now;
}

void Supervisor::Escalate() {
  switch (phase_) {
    case Phase::kRunning:
    case Phase::kStillThere:
      return;
    case Phase::kFailed:
      Enter(Phase::kSignalled, plan_.grace);
      return ranks_.SignalAndContinue(SIGTERM);
    case Phase::kSignalled:
      Say(absl::StrCat(NamedRanks(ranks_.Living()), " did not end within ",
                       absl::FormatDuration(plan_.grace), "; sending SIGKILL"));
      Enter(Phase::kKilled, kKillPatience);
      return ranks_.SignalAndContinue(SIGKILL);
    case Phase::kKilled:
      Enter(Phase::kStillThere, absl::InfiniteDuration());
      if (ranks_.OutOfReach() == ranks_.Living()) {
        outcome_.LeftRunning(ranks_.Living());
        return ranks_.Abandon();
      }
      return Say(absl::StrCat(NamedRanks(ranks_.Living()),
                              " did not end on SIGKILL: in an uninterruptible system call (a "
                              "driver, a file system?); still waiting"));
  }
}

void Supervisor::OnControl() {
  unsigned char signal = 0;
  const ssize_t size = read(control_fd_, &signal, 1);
  if (size < 0) return;
  if (size == 1) return OnSignal(signal);
  // The launcher was killed. Nobody is left who could wait for anything.
  KillDescendants([] { return Leftovers{Descendants(getpid()), {}}; });
  coordinator_.reset();  // and its directory
  _exit(kExitFailure);
}

void Supervisor::OnSignal(int signal) {
  if (signal == SIGTSTP) return Suspend();
  if (signal == SIGCONT) return Resume();
  if (signal == SIGWINCH) starter_->WindowChanged();
  if (!IsEndingSignal(signal)) return ranks_.Signal(signal);
  OnEndingSignal(signal);
}

void Supervisor::OnEndingSignal(int signal) {
  ++ending_signals_;
  if (!first_ending_signal_) first_ending_signal_ = signal;
  if (!Active()) return;
  if (suspended_) Resume();
  const std::vector<int> living = ranks_.Living();
  if (ending_signals_ == 1) {
    outcome_.Interrupted(signal);
    Say(absl::StrCat("got ", SignalName(signal), "; passing it on to ", NamedRanks(living),
                     ". SIGKILL follows in ", absl::FormatDuration(plan_.grace),
                     ", or at a second signal"));
    if (phase_ < Phase::kSignalled) Enter(Phase::kSignalled, plan_.grace);
    ranks_.SignalAndContinue(signal);
  } else if (phase_ < Phase::kKilled) {
    Say(absl::StrCat("got ", SignalName(signal), " again; sending SIGKILL"));
    Enter(Phase::kKilled, kKillPatience);
    ranks_.SignalAndContinue(SIGKILL);
  }
}

void Supervisor::OnReaderGone(bool lost) {
  const std::vector<int> living = ranks_.Living();
  if (lost || !living.empty()) outcome_.ReaderGone();
  if (living.empty() || phase_ >= Phase::kSignalled) return;
  Say(absl::StrCat("nobody reads the output any more; ending ", NamedRanks(living),
                   ": SIGTERM now, SIGKILL in ", absl::FormatDuration(plan_.grace)));
  Enter(Phase::kSignalled, plan_.grace);
  ranks_.SignalAndContinue(SIGTERM);
}

void Supervisor::Suspend() {
  const std::vector<int> living = ranks_.Living();
  if (living.empty() || std::exchange(suspended_, true)) return;
  Say(absl::StrCat("got SIGTSTP; ", NamedRanks(living), living.size() == 1 ? " is" : " are",
                   " stopped until SIGCONT"));
  // Not SIGTSTP, which a rank may ignore. The coordinator too: it would take the silence of stopped
  // ranks for their loss.
  ranks_.Signal(SIGSTOP);
  if (coordinator_ != nullptr && !coordinator_end_) kill(coordinator_->pid(), SIGSTOP);
}

void Supervisor::Resume() {
  suspended_ = false;
  if (coordinator_ != nullptr && !coordinator_end_) kill(coordinator_->pid(), SIGCONT);
  ranks_.Signal(SIGCONT);
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
  RankTable::Place* const place = ranks_.Find(pid);
  if (place == nullptr || reporter_ == nullptr) return;
  if (stopped && observe::IsBeingDebugged(pid)) return;  // for a bundle
  if (!suspended_ || !plan_.hosted) reporter_->ReportStopped(place->secret, stopped);
  if (suspended_ || stopped == std::exchange(place->said_stopped, stopped)) return;
  Say(absl::StrCat("rank ", place->rank, " (pid ", pid, ", node ", node_, ") ",
                   stopped ? "is stopped; SIGCONT continues it" : "was continued"));
}

void Supervisor::OnEnd(pid_t pid, int wait_status) {
  const ProcessEnd end = FromWaitStatus(wait_status);
  if (coordinator_ != nullptr && pid == coordinator_->pid()) return OnCoordinatorEnd(end);
  if (RankTable::Place* place = ranks_.Find(pid)) OnRankEnd(place, end);
}

void Supervisor::OnRankEnd(RankTable::Place* place, const ProcessEnd& end) {
  if (group_ && phase_ != Phase::kRunning) CancelGroupRestart();
  ranks_.Ended(place);
  TellResponder();
  const bool ending = phase_ >= Phase::kSignalled || (group_ && group_->ending);
  const RankEnd rank_end = {place->rank, place->pid, end, ending};
  starter_->Ended(place->local_rank, rank_end, why_);  // its last words come before ours
  if (!group_) return Settle(place, rank_end, MayRestartGroup());
  group_->ends.push_back({place, rank_end});
  if (group_->ending) ReportEnd(*place, rank_end, /*fatal=*/false);
}

// What becomes of the run.
void Supervisor::Settle(RankTable::Place* place, RankEnd rank_end, bool may_restart_group) {
  const bool failed = !rank_end.end.clean() && phase_ == Phase::kRunning;
  if (failed && may_restart_group) return BeginGroupRestart(place, rank_end);
  const bool restarts = failed && MayRestart();
  rank_end.forgiven = failed && !restarts && MayGoOn();
  const bool fatal = failed && !restarts && !rank_end.forgiven;
  ReportEnd(*place, rank_end, fatal);
  if (restarts) return BeginRestart(place, rank_end);
  if (rank_end.forgiven) GoOnWithout(place, rank_end);
  outcome_.Add(rank_end);
  if (fatal) BeginFailure(HowItEnded(rank_end));
}

// Nobody comes in its place. Of an epoch that is a loss; before there is one, others would wait.
void Supervisor::ReportEnd(const RankTable::Place& place, const RankEnd& end, bool fatal) {
  if (reporter_ == nullptr) return;
  const bool gives_up = fatal && !SaysHealthy(end.end) && watch_ != nullptr && !watch_->formed();
  reporter_->ReportEnd(place.secret, end.pid, end.end, gives_up ? outcome_.Sentence(end) : "");
  gave_up_ |= gives_up;
}

void Supervisor::OnJobFailed() {
  loop_->Forget(watch_->fd());
  if (phase_ != Phase::kRunning || !Active()) return;
  why_ = watch_->reason();
  outcome_.FailedElsewhere(why_);
  BeginFailure("the job has failed");
}

void Supervisor::OnLosses() {
  for (const RankReporter::Loss& loss : reporter_->TakeLosses()) {
    RankEnd* const end = outcome_.Find(loss.pid);
    if (end == nullptr) continue;  // another process has its place, or is about to
    end->loss = loss.words;
    if (loss.without_leave && !end->after_our_signal) OnEndWithoutLeave(end);
  }
}

void Supervisor::OnEndWithoutLeave(RankEnd* end) {
  end->without_leave = true;  // so that it does not count as one that has done its part
  end->forgiven = MayGoOn();
  const int local_rank = end->rank - plan_.GlobalRank(0);
  if (end->forgiven) {
    return Say(absl::StrCat(outcome_.Sentence(*end), "; the job goes on with ", Left(), " of ",
                            plan_.world_size(), " ranks"));
  }
  starter_->EndedWithoutLeave(local_rank);
  if (phase_ == Phase::kRunning) BeginFailure(HowItEnded(*end));
}

void Supervisor::TellResponder() {
  if (responder_ == nullptr) return;
  std::vector<WatchedRank> living;
  std::vector<WatchedRank> ended;
  for (int local_rank = 0; local_rank < plan_.nproc_per_node; ++local_rank) {
    const RankTable::Place& place = ranks_.At(local_rank);
    if (place.starts == 0) continue;
    const std::optional<int> started_for =
        plan_.elastic() ? std::nullopt : std::optional<int>(place.rank);
    (place.alive ? living : ended)
        .push_back({absl::StrCat("rank ", place.rank), started_for, place.pid, place.secret,
                    place.activity});
  }
  responder_->SetRanks(std::move(living), std::move(ended));
}

void Supervisor::BeginFailure(const std::string& what) {
  Enter(Phase::kFailed, plan_.failure_wait);
  failure_ = what;
  tell_failure_ = SteadyNow() + std::min(kUntold, plan_.failure_wait);
}

void Supervisor::TellFailure() {
  tell_failure_ = absl::InfiniteFuture();
  const std::vector<int> others = ranks_.Living();
  if (others.empty() || phase_ != Phase::kFailed) return;  // the summary says it all
  const absl::Duration left = plan_.failure_wait - std::min(kUntold, plan_.failure_wait);
  Say(absl::StrCat(failure_, "; ending ", NamedRanks(others), ": SIGTERM in ",
                   absl::FormatDuration(left), ", SIGKILL ", absl::FormatDuration(plan_.grace),
                   " later"));
}

}  // namespace muster::launcher
