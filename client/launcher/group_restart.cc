#include "client/launcher/group_restart.h"

#include <signal.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/launcher/outcome/rank_ranges.h"
#include "client/launcher/process/kill_patience.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

// Longer than MusterUseQuery needs. In a process that can start no more threads, a gRPC call never
// returns.
constexpr absl::Duration kQueryPatience = absl::Seconds(5);

}  // namespace

GroupRestart::GroupRestart(const JobPlan* plan, RankTable* ranks, CoordinatorLink* link,
                           MpiServer* mpi, std::string cause, RankStarter* starter,
                           std::optional<HeldEnd> failure)
    : plan_(*plan),
      ranks_(ranks),
      link_(link),
      mpi_(mpi),
      cause_(std::move(cause)),
      starter_(starter),
      failed_here_(failure.has_value()),
      queries_muster_use_(failed_here_ && plan->restart == RestartScope::kAuto),
      deadline_(SteadyNow() + kQueryPatience) {
  if (failure) ends_.push_back(*std::move(failure));
  if (queries_muster_use_) link_->QueryMusterUse();
}

void GroupRestart::Hold(const HeldEnd& end) {
  ends_.push_back(end);
  if (ending_) Report(end);
}

GroupRestart::Next GroupRestart::Step() {
  if (!ending_) {
    if (queries_muster_use_ && !link_->muster_use_known() && SteadyNow() < deadline_)
      return Next::kStep;
    if (queries_muster_use_ && link_->uses_muster() != false) return Next::kOneByOne;
    EndOthers();
  }
  const std::vector<int> living = ranks_->Living();
  if (!living.empty()) return Escalate(living);
  if (!cleanup_) cleanup_.emplace(ranks_->CleanUpAfterAll());
  return cleanup_->Step(SteadyNow()) ? Next::kStartAll : Next::kStep;
}

void GroupRestart::EndOthers() {
  ending_ = true;
  deadline_ = SteadyNow() + plan_.grace;
  mpi_->EndWorld({cause_, std::nullopt, /*restarts=*/true});
  for (const HeldEnd& held : ends_) Report(held);
  const std::vector<int> living = ranks_->Living();
  if (living.empty()) return;
  starter_->Say(absl::StrCat(cause_, "; all ranks of this node are restarted: ending ",
                             NamedRanks(living), ": SIGTERM now, SIGKILL in ",
                             absl::FormatDuration(plan_.grace)));
  ranks_->SignalAndContinue(SIGTERM);
}

GroupRestart::Next GroupRestart::Escalate(const std::vector<int>& living) {
  if (SteadyNow() < deadline_) return Next::kStep;
  if (std::exchange(killed_, true)) return Next::kOutlivedKill;
  starter_->Say(absl::StrCat(NamedRanks(living), " did not end within ",
                             absl::FormatDuration(plan_.grace), "; sending SIGKILL"));
  deadline_ = SteadyNow() + kKillPatience;
  ranks_->SignalAndContinue(SIGKILL);
  return Next::kStep;
}

}  // namespace muster::launcher
