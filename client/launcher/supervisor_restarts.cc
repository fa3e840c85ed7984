// What follows where a rank fails: it is started again, by itself or with all others of the node,
// or the job goes on without it.

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/launcher/master_port.h"
#include "client/launcher/rank_ranges.h"
#include "client/launcher/supervisor.h"
#include "common/process_secret.h"
#include "common/steady_now.h"

namespace muster::launcher {
namespace {

constexpr absl::Duration kKillPatience = absl::Seconds(5);
// More than the question whether the job uses Muster takes. gRPC never returns from a call where
// this process gets no threads any more.
constexpr absl::Duration kAskPatience = absl::Seconds(5);

}  // namespace

// ---- One rank ----

void Supervisor::StepRestarts() {
  for (auto restart = restarts_.begin(); restart != restarts_.end() && !suspended_;) {
    restart = Continue(&*restart) ? restarts_.erase(restart) : std::next(restart);
  }
}

// True when the restart has come about, or will not.
bool Supervisor::Continue(Restart* restart) {
  if (phase_ == Phase::kRunning && !restart->cleanup.Step(SteadyNow())) return false;
  const std::string what = outcome_.Sentence(restart->end);
  absl::Status started = absl::CancelledError("the run is ending");
  if (phase_ == Phase::kRunning) started = ranks_.Start(restart->place->local_rank);
  restart->end.forgiven = started.ok();
  TellResponder();
  outcome_.Add(restart->end);
  if (started.ok()) {
    TellOfStart(*restart->place);
    Say(absl::StrCat(what, "; restarted as pid ", restart->place->pid, " (restart ", restart_count_,
                     " of at most ", plan_.max_restarts, ")"));
  } else if (phase_ == Phase::kRunning) {
    BeginFailure(absl::StrCat(what, "; ", started.message()));
  }
  return true;
}

bool Supervisor::MayRestart() const {
  // Where a rank has left the job in peace the job is over, and would not take another.
  return restart_count_ < plan_.max_restarts && outcome_.clean_ends() == 0;
}

void Supervisor::BeginRestart(RankTable::Place* place, const RankEnd& end) {
  ++restart_count_;
  restarts_.push_back({place, end, CleanupAfter(place)});
}

Cleanup Supervisor::CleanupAfter(RankTable::Place* place) {
  const auto left_behind = [this, place] { return ranks_.LeftBehind(*place, CoordinatorPid()); };
  return Cleanup(
      left_behind, [this](const std::string& text) { Say(text); }, plan_.grace, SteadyNow());
}

// ---- All ranks of the node ----

// Not while ranks are started again one by one: the job uses Muster then.
bool Supervisor::MayRestartGroup() const {
  if (plan_.restart == RestartScope::kRank || uses_muster_ || !restarts_.empty()) return false;
  // A process that gets no threads cannot ask.
  const bool may_ask = reporter_ != nullptr && reporter_->started().ok();
  if (plan_.restart == RestartScope::kAuto && !may_ask) return false;
  return restart_count_ < plan_.max_restarts;
}

void Supervisor::BeginGroupRestart(RankTable::Place* place, const RankEnd& end) {
  group_.emplace(GroupRestart{});
  group_->ends.push_back({place, end});
  if (plan_.restart == RestartScope::kGroup) return;
  group_->deadline = SteadyNow() + kAskPatience;
  std::vector<std::string> own;
  for (int local_rank = 0; local_rank < plan_.nproc_per_node; ++local_rank) {
    own.push_back(IncarnationOf(ranks_.At(local_rank).secret));
  }
  group_->use =
      std::make_unique<MusterUse>(plan_, clients_, std::move(own), SteadyNow() - ranks_started_);
  loop_->Watch(group_->use->fd(), [this] { loop_->Forget(group_->use->fd()); });
}

void Supervisor::StepGroupRestart() {
  if (!group_) return;
  if (phase_ != Phase::kRunning) return CancelGroupRestart();
  if (suspended_) return;
  if (!group_->ending) {
    if (group_->use != nullptr && !group_->use->done() && SteadyNow() < group_->deadline) return;
    if (group_->use != nullptr && group_->use->answer() != false) return RestartOneByOne();
    EndGroup();
  }
  const std::vector<int> living = ranks_.Living();
  if (!living.empty()) return HurryGroup(living);
  if (!group_->cleanup) {
    group_->cleanup.emplace([this] { return AllButTheCoordinator(); },
                            [this](const std::string& text) { Say(text); }, plan_.grace,
                            SteadyNow());
  }
  if (group_->cleanup->Step(SteadyNow())) StartGroup();
}

// The job uses Muster, or nobody can tell.
void Supervisor::RestartOneByOne() {
  uses_muster_ |= group_->use->answer().value_or(false);
  const std::vector<HeldEnd> held = TakeHeldEnds();
  for (const HeldEnd& end : held) Settle(end.place, end.end, /*may_restart_group=*/false);
}

std::vector<Supervisor::HeldEnd> Supervisor::TakeHeldEnds() {
  if (group_->use != nullptr) loop_->Forget(group_->use->fd());
  std::vector<HeldEnd> held = std::move(group_->ends);
  group_.reset();
  return held;
}

void Supervisor::CancelGroupRestart() {
  const bool reported = group_->ending;
  for (const HeldEnd& held : TakeHeldEnds()) {
    if (!reported) ReportEnd(*held.place, held.end, /*fatal=*/false);
    outcome_.Add(held.end);
  }
}

void Supervisor::EndGroup() {
  ++restart_count_;
  group_->ending = true;
  group_->deadline = SteadyNow() + plan_.grace;
  for (const HeldEnd& held : group_->ends) ReportEnd(*held.place, held.end, /*fatal=*/false);
  const std::vector<int> living = ranks_.Living();
  if (living.empty()) return;
  Say(absl::StrCat(outcome_.Sentence(group_->ends.front().end),
                   "; all ranks of this node are restarted: ending ", NamedRanks(living),
                   ": SIGTERM now, SIGKILL in ", absl::FormatDuration(plan_.grace)));
  ranks_.SignalAndContinue(SIGTERM);
}

void Supervisor::HurryGroup(const std::vector<int>& living) {
  if (SteadyNow() < group_->deadline) return;
  if (!std::exchange(group_->killed, true)) {
    Say(absl::StrCat(NamedRanks(living), " did not end within ", absl::FormatDuration(plan_.grace),
                     "; sending SIGKILL"));
    group_->deadline = SteadyNow() + kKillPatience;
    return ranks_.SignalAndContinue(SIGKILL);
  }
  // The run is over, and says of these what it says of all that do not end.
  CancelGroupRestart();
  Enter(Phase::kKilled, absl::ZeroDuration());
}

void Supervisor::StartGroup() {
  const std::vector<HeldEnd> held = TakeHeldEnds();
  RankEnd first = held.front().end;
  if (picked_master_port_) plan_.master_port = FreePort();  // the old one may still be in use
  absl::Status started;
  for (int i = 0; i < plan_.nproc_per_node && started.ok(); ++i) started = ranks_.Start(i);
  TellResponder();
  first.forgiven = started.ok();
  if (started.ok()) outcome_.ForgetCleanEnds();
  outcome_.Add(first);
  if (!started.ok()) {
    return BeginFailure(absl::StrCat(outcome_.Sentence(first), "; ", started.message()));
  }
  for (int i = 0; i < plan_.nproc_per_node; ++i) TellOfStart(ranks_.At(i));
  Say(absl::StrCat(outcome_.Sentence(first), "; all ranks of this node (", plan_.nproc_per_node,
                   ") were restarted (restart ", restart_count_, " of at most ", plan_.max_restarts,
                   ")"));
}

// ---- Fewer ranks ----

int Supervisor::Left() const {
  return static_cast<int>(ranks_.Living().size() + restarts_.size()) + outcome_.clean_ends();
}

bool Supervisor::MayGoOn() const {
  return plan_.min_world_size < plan_.world_size() && Left() >= plan_.min_world_size;
}

void Supervisor::GoOnWithout(RankTable::Place* place, const RankEnd& end) {
  Say(absl::StrCat(outcome_.Sentence(end), "; the job goes on with ", Left(), " of ",
                   plan_.world_size(), " ranks"));
  cleanups_.push_back(CleanupAfter(place));
}

}  // namespace muster::launcher
