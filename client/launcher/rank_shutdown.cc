#include "client/launcher/rank_shutdown.h"

#include <signal.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "client/launcher/process/kill_patience.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

// Most ranks end on their own soon after another has failed. Then the summary tells enough.
constexpr absl::Duration kAnnounceDelay = absl::Seconds(1);

}  // namespace

void RankShutdown::BeginFailure(const std::string& what, absl::Duration wait) {
  Enter(Phase::kFailed, wait);
  failure_wait_ = wait;
  failure_ = what;
  announce_failure_at_ = SteadyNow() + std::min(kAnnounceDelay, wait);
}

void RankShutdown::OnEndingSignal(int signal, int count) {
  if (count == 1) {
    outcome_->Interrupted(signal);
    starter_->Say(absl::StrCat("got ", SignalName(signal), "; passing it on to ",
                               NamedRanks(ranks_->Living()), ". SIGKILL follows in ",
                               absl::FormatDuration(plan_.grace), ", or at a second signal"));
    if (!signalled()) Enter(Phase::kSignalled, plan_.grace);
    ranks_->SignalAndContinue(signal);
  } else if (!killed()) {
    starter_->Say(absl::StrCat("got ", SignalName(signal), " again; sending SIGKILL"));
    Enter(Phase::kKilled, kKillPatience);
    ranks_->SignalAndContinue(SIGKILL);
  }
}

void RankShutdown::OnReaderGone(bool lost) {
  const std::vector<int> living = ranks_->Living();
  if (lost || !living.empty()) outcome_->ReaderGone();
  if (living.empty() || signalled()) return;
  starter_->Say(absl::StrCat("nobody reads the output any more; ending ", NamedRanks(living),
                             ": SIGTERM now, SIGKILL in ", absl::FormatDuration(plan_.grace)));
  Enter(Phase::kSignalled, plan_.grace);
  ranks_->SignalAndContinue(SIGTERM);
}

void RankShutdown::Step() {
  if (SteadyNow() >= announce_failure_at_) AnnounceFailure();
  if (SteadyNow() >= deadline_) Escalate();
}

void RankShutdown::Enter(Phase phase, absl::Duration from_now) {
  phase_ = phase;
  deadline_ = SteadyNow() + from_now;
}

void RankShutdown::Escalate() {
  const std::vector<int> living = ranks_->Living();
  switch (phase_) {
    case Phase::kRunning:
    case Phase::kUnkillable:
      return;
    case Phase::kFailed:
      Enter(Phase::kSignalled, plan_.grace);
      return ranks_->SignalAndContinue(SIGTERM);
    case Phase::kSignalled:
      starter_->Say(absl::StrCat(NamedRanks(living), " did not end within ",
                                 absl::FormatDuration(plan_.grace), "; sending SIGKILL"));
      Enter(Phase::kKilled, kKillPatience);
      return ranks_->SignalAndContinue(SIGKILL);
    case Phase::kKilled:
      Enter(Phase::kUnkillable, absl::InfiniteDuration());
      if (ranks_->OutOfReach() == living) {
        outcome_->LeftRunning(living);
        return ranks_->Abandon();
      }
      return starter_->Say(
          absl::StrCat(NamedRanks(living),
                       " did not end on SIGKILL: in an uninterruptible system call (a "
                       "driver, a file system?); still waiting"));
  }
}

void RankShutdown::AnnounceFailure() {
  announce_failure_at_ = absl::InfiniteFuture();
  const std::vector<int> living = ranks_->Living();
  if (living.empty() || phase_ != Phase::kFailed) return;  // the summary tells enough
  const absl::Duration left = failure_wait_ - std::min(kAnnounceDelay, failure_wait_);
  starter_->Say(absl::StrCat(failure_, "; ending ", NamedRanks(living), ": SIGTERM in ",
                             absl::FormatDuration(left), ", SIGKILL ",
                             absl::FormatDuration(plan_.grace), " later"));
}

}  // namespace muster::launcher
