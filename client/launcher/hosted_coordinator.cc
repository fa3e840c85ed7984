#include "client/launcher/hosted_coordinator.h"

#include <signal.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/launcher/process/kill_patience.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(5);
constexpr absl::Duration kStartPatience = absl::Seconds(30);
// Longer than musterd's own drain.
constexpr absl::Duration kStopPatience = absl::Seconds(15);

}  // namespace

HostedCoordinator::HostedCoordinator(RankStarter* starter, EventLoop* loop,
                                     const EndingSignals* signals, OnGivenUp on_given_up)
    : starter_(starter), loop_(loop), signals_(*signals), on_given_up_(std::move(on_given_up)) {}

absl::Status HostedCoordinator::Start(JobPlan* plan) {
  if (!plan->hosted) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<CoordinatorProcess>> started =
      CoordinatorProcess::Start(*plan->hosted, [this] { return starter_->CoordinatorOutput(); });
  if (!started.ok()) {
    const std::string text =
        absl::StrCat("cannot start the coordinator: ", started.status().message());
    return absl::IsResourceExhausted(started.status()) ? absl::ResourceExhaustedError(text)
                                                       : absl::UnavailableError(text);
  }
  process_ = *std::move(started);
  const absl::StatusOr<HostPort> address = AwaitAddress(*plan->hosted);
  if (!address.ok()) return address.status();
  plan->coordinator = *address;
  starter_->CoordinatorServes(*address, process_->Page());
  if (plan->hosted->own_token) plan->credentials = {process_->token_file(), {}, {}, {}, {}};
  return absl::OkStatus();
}

absl::StatusOr<HostPort> HostedCoordinator::AwaitAddress(const CoordinatorCommand& command) {
  const std::string name = absl::StrCat("the coordinator (", command.musterd, ") ");
  const absl::Time deadline = SteadyNow() + kStartPatience;
  while (SteadyNow() < deadline) {
    if (const std::optional<HostPort> address = process_->Address()) return *address;
    if (end_) {
      return absl::UnavailableError(
          absl::StrCat(name, Describe(*end_), " before it listened at ", command.listen.ToString(),
                       "; its own message says why. No rank was started"));
    }
    if (signals_.first()) {
      return absl::CancelledError(
          absl::StrCat("got ", SignalName(*signals_.first()), " before any rank was started"));
    }
    loop_->Poll(kPoll);
  }
  return absl::UnavailableError(absl::StrCat(
      name, "was not listening after ", absl::FormatDuration(kStartPatience), "; see its log"));
}

void HostedCoordinator::OnEnd(const ProcessEnd& end, bool needed) {
  end_ = end;
  if (needed) Restart(DescribeEnd());
}

std::string HostedCoordinator::DescribeEnd() const {
  return absl::StrCat("the coordinator (musterd, pid ", pid(), ") ", Describe(*end_));
}

void HostedCoordinator::Restart(const std::string& what) {
  const std::optional<absl::Duration> pause = process_->NextPause();
  if (!pause) return GiveUp(what);
  if (*pause == absl::ZeroDuration()) return StartAgain();
  next_start_ = SteadyNow() + *pause;
  starter_->Say(absl::StrCat(what, "; it is started again in ", absl::FormatDuration(*pause)));
}

void HostedCoordinator::StartAgain() {
  next_start_ = absl::InfiniteFuture();
  const std::string what = DescribeEnd();
  const absl::Status started = process_->StartAgain();
  if (!started.ok()) {
    return Restart(
        absl::StrCat(what, ", and another one could not be started (", started.message(), ")"));
  }
  end_.reset();
  starter_->Say(absl::StrCat(what, "; restarted as pid ", pid(), ", and the ranks go on"));
}

void HostedCoordinator::GiveUp(const std::string& what) {
  status_ = absl::UnavailableError(absl::StrCat(
      what, " and is not restarted: it has not stayed up for ",
      absl::FormatDuration(process_->patience()),
      ", as long as ranks wait for it (MUSTER_COORDINATOR_TIMEOUT); its own messages say why"));
  on_given_up_(*end_);
}

void HostedCoordinator::Signal(int signal) const {
  if (running()) kill(pid(), signal);
}

void HostedCoordinator::AwaitEnd(absl::Duration patience) {
  const absl::Time deadline = SteadyNow() + patience;
  const int signals_before = signals_.count();
  while (running() && SteadyNow() < deadline && signals_.count() == signals_before) {
    loop_->Poll(deadline - SteadyNow());
  }
}

void HostedCoordinator::Stop() {
  Signal(SIGTERM);
  Signal(SIGCONT);
  AwaitEnd(kStopPatience);
  Signal(SIGKILL);
  AwaitEnd(kKillPatience);
}

}  // namespace muster::launcher
