// The coordinator that is hosted here: its start, its restarts and its end.

#include <signal.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/supervisor.h"
#include "common/steady_now.h"

namespace muster::launcher {
namespace {

constexpr absl::Duration kCoordinatorPoll = absl::Milliseconds(5);
constexpr absl::Duration kCoordinatorStart = absl::Seconds(30);
// For threads of this process to see that their calls were cancelled.
constexpr absl::Duration kHangUp = absl::Seconds(1);
// More than musterd's own time to drain.
constexpr absl::Duration kCoordinatorStop = absl::Seconds(15);
// How long it waits for a job to form all the same of which a node has given up.
constexpr absl::Duration kGivingUp = absl::Seconds(5);
constexpr absl::Duration kKillPatience = absl::Seconds(5);

}  // namespace

absl::Status Supervisor::StartCoordinator() {
  if (!plan_.hosted) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<CoordinatorProcess>> started =
      CoordinatorProcess::Start(*plan_.hosted, [this] { return starter_->CoordinatorOutput(); });
  if (!started.ok()) {
    const std::string text =
        absl::StrCat("cannot start the coordinator: ", started.status().message());
    return absl::IsResourceExhausted(started.status()) ? absl::ResourceExhaustedError(text)
                                                       : absl::UnavailableError(text);
  }
  coordinator_ = *std::move(started);
  return AwaitCoordinator();
}

absl::Status Supervisor::AwaitCoordinator() {
  const std::string name = absl::StrCat("the coordinator (", plan_.hosted->musterd, ") ");
  const absl::Time deadline = SteadyNow() + kCoordinatorStart;
  while (SteadyNow() < deadline) {
    if (const std::optional<HostPort> address = coordinator_->Address()) {
      plan_.coordinator = *address;
      starter_->CoordinatorServes(*address, coordinator_->Page());
      if (plan_.hosted->own_token) plan_.credentials = {coordinator_->token_file(), {}, {}, {}, {}};
      return absl::OkStatus();
    }
    if (coordinator_end_) {
      return absl::UnavailableError(absl::StrCat(
          name, Describe(*coordinator_end_), " before it listened at ",
          plan_.hosted->listen.ToString(), "; its own message says why. No rank was started"));
    }
    if (first_ending_signal_) {
      return absl::CancelledError(
          absl::StrCat("got ", SignalName(*first_ending_signal_), " before any rank was started"));
    }
    loop_->Poll(kCoordinatorPoll);
  }
  return absl::UnavailableError(absl::StrCat(
      name, "was not listening after ", absl::FormatDuration(kCoordinatorStart), "; see its log"));
}

void Supervisor::OnCoordinatorEnd(const ProcessEnd& end) {
  coordinator_end_ = end;
  if (Active() && phase_ == Phase::kRunning) RestartCoordinator(HowCoordinatorEnded());
}

std::string Supervisor::HowCoordinatorEnded() const {
  return absl::StrCat("the coordinator (musterd, pid ", coordinator_->pid(), ") ",
                      Describe(*coordinator_end_));
}

void Supervisor::RestartCoordinator(const std::string& what) {
  const std::optional<absl::Duration> pause = coordinator_->NextPause();
  if (!pause) return GiveCoordinatorUp(what);
  if (*pause == absl::ZeroDuration()) return StartCoordinatorAgain();
  coordinator_start_ = SteadyNow() + *pause;
  Say(absl::StrCat(what, "; it is started again in ", absl::FormatDuration(*pause)));
}

void Supervisor::StartCoordinatorAgain() {
  coordinator_start_ = absl::InfiniteFuture();
  if (phase_ != Phase::kRunning) return;
  const std::string what = HowCoordinatorEnded();
  const absl::Status started = coordinator_->StartAgain();
  if (!started.ok()) {
    return RestartCoordinator(
        absl::StrCat(what, ", and another one could not be started (", started.message(), ")"));
  }
  coordinator_end_.reset();
  Say(absl::StrCat(what, "; restarted as pid ", coordinator_->pid(), ", and the ranks go on"));
}

void Supervisor::GiveCoordinatorUp(const std::string& what) {
  coordinator_status_ = absl::UnavailableError(absl::StrCat(
      what, " and is not restarted: it has not stayed up for ",
      absl::FormatDuration(coordinator_->patience()),
      ", as long as ranks wait for it (MUSTER_COORDINATOR_TIMEOUT); its own messages say why"));
  outcome_.CoordinatorLost(*coordinator_end_);
  BeginFailure(std::string(coordinator_status_.message()));
}

void Supervisor::StopCoordinator() {
  if (coordinator_ == nullptr || coordinator_end_) return;
  // It is the other nodes' too, and the only one that can tell them of a failure.
  if (watch_ != nullptr && outcome_.ExitStatus() != 0) {
    AwaitCoordinatorEnd(JobWatch::Delay(plan_) + (gave_up_ ? kGivingUp : absl::ZeroDuration()));
  }
  if (coordinator_end_) return;
  HangUp(kHangUp);
  // At SIGTERM it delivers the answers that it owes.
  kill(coordinator_->pid(), SIGTERM);
  kill(coordinator_->pid(), SIGCONT);
  AwaitCoordinatorEnd(kCoordinatorStop);
  if (coordinator_end_) return;
  kill(coordinator_->pid(), SIGKILL);
  AwaitCoordinatorEnd(kKillPatience);
}

void Supervisor::HangUp(absl::Duration patience) {
  if (watch_ != nullptr) loop_->Forget(watch_->fd());
  if (responder_ != nullptr) loop_->Forget(responder_->fd());
  if (reporter_ != nullptr) loop_->Forget(reporter_->fd());
  watch_.reset();
  responder_.reset();
  reporter_.reset();
  clients_->Close(patience);
}

void Supervisor::AwaitCoordinatorEnd(absl::Duration patience) {
  const absl::Time deadline = SteadyNow() + patience;
  const int signals_before = ending_signals_;
  while (!coordinator_end_ && SteadyNow() < deadline && ending_signals_ == signals_before) {
    loop_->Poll(deadline - SteadyNow());
  }
}

}  // namespace muster::launcher
