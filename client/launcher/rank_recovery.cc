#include "client/launcher/rank_recovery.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/process/steady_now.h"

namespace muster::launcher {

using HeldEnd = GroupRestart::HeldEnd;

RankRecovery::RankRecovery(const JobPlan* plan, RankTable* ranks, RunOutcome* outcome,
                           RankShutdown* shutdown, CoordinatorLink* link, MpiServer* mpi,
                           RankStarter* starter)
    : plan_(*plan),
      ranks_(ranks),
      outcome_(outcome),
      shutdown_(shutdown),
      link_(link),
      mpi_(mpi),
      starter_(starter) {}

void RankRecovery::OnEnd(RankTable::Place* place, const ProcessEnd& end) {
  if (group_ && !shutdown_->running()) CancelGroup();
  ranks_->Ended(place);
  link_->PublishRanks();
  const bool ending = shutdown_->signalled() || (group_ && group_->ending());
  RankEnd rank_end = {place->rank, place->pid, end, ending};
  const std::optional<MpiFault> mpi_fault = mpi_->Ended(place->local_rank, end);
  if (!ending) rank_end.mpi_fault = mpi_fault;
  // The rank's last output is printed before the launcher's messages about its end.
  starter_->Ended(place->local_rank, rank_end, outcome_->failure_elsewhere());
  if (group_) return group_->Hold({place, rank_end});
  // It was signalled, and has left MPI without the others.
  if (ending && mpi_fault) EndMpiWorld(rank_end);
  Settle(place, rank_end, MayRestartGroup());
}

// Decides what the end means for the run.
void RankRecovery::Settle(RankTable::Place* place, RankEnd end, bool may_restart_group) {
  const bool failed = !end.well() && shutdown_->running();
  if (failed && may_restart_group) {
    group_.emplace(&plan_, ranks_, link_, mpi_, outcome_->Sentence(end), starter_,
                   HeldEnd{place, end});
    return;
  }
  const bool restarts = failed && MayRestart(*place);
  end.forgiven = failed && !restarts && MayContinue();
  const bool fatal = failed && !restarts && !end.forgiven;
  ReportEnd(*place, end, fatal);
  if (restarts) return BeginRestart(place, end);
  if (end.forgiven) {
    AnnounceLostRank(end);
    cleanups_.push_back(ranks_->CleanUpAfter(*place));
  }
  outcome_->Add(end);
  if (!fatal) return;
  EndMpiWorld(end);
  // After MPI_Abort() the other ranks have nothing to report.
  shutdown_->BeginFailure(DescribeEnd(end),
                          end.aborted() ? absl::ZeroDuration() : plan_.failure_wait);
}

void RankRecovery::ReportEnd(const RankTable::Place& place, const RankEnd& end, bool fatal) {
  const bool is_the_cause = fatal && !SaysHealthy(end.end);
  link_->ReportEnd(place, end, is_the_cause ? outcome_->Sentence(end) : "");
}

void RankRecovery::OnMpiFault(int local_rank, const MpiFault& fault) {
  RankEnd* const end = outcome_->Find(ranks_->At(local_rank).pid);
  if (end == nullptr || end->after_our_signal) return;  // it is about to be replaced, or was ended
  end->mpi_fault = fault;
  EndMpiWorld(*end);
  if (shutdown_->running()) shutdown_->BeginFailure(DescribeEnd(*end));
}

bool RankRecovery::OnWorldRestart(const std::string& why) {
  if (group_) return true;
  if (!shutdown_->running() || !MayRestartGroup()) return false;
  group_.emplace(&plan_, ranks_, link_, mpi_, why, starter_, std::nullopt);
  return true;
}

void RankRecovery::EndMpiWorld(const RankEnd& end) {
  mpi_->EndWorld({outcome_->Sentence(end), end.aborted() ? end.mpi_fault->code : std::nullopt});
}

void RankRecovery::OnLosses() {
  for (const RankReporter::Loss& loss : link_->TakeLosses()) {
    RankEnd* const end = outcome_->Find(loss.pid);
    if (end == nullptr) continue;  // the process was replaced, or is about to be
    end->loss = loss.description;
    if (loss.without_leave && !end->after_our_signal) OnEndWithoutLeave(end);
  }
}

void RankRecovery::OnEndWithoutLeave(RankEnd* end) {
  end->without_leave = true;  // so that it does not count as a clean end
  end->forgiven = MayContinue();
  if (end->forgiven) return AnnounceLostRank(*end);
  starter_->EndedWithoutLeave(end->rank - plan_.GlobalRank(0));
  if (shutdown_->running()) shutdown_->BeginFailure(DescribeEnd(*end));
}

void RankRecovery::Step(bool suspended) {
  if (!suspended) {
    restarts_.remove_if([this](Restart& restart) { return Continue(&restart); });
  }
  if (group_ && !shutdown_->running()) CancelGroup();
  if (group_ && !suspended) StepGroup();
  cleanups_.remove_if([](Cleanup& cleanup) { return cleanup.Step(SteadyNow()); });
}

// ---- Restart of one rank ----

bool RankRecovery::MayRestart(const RankTable::Place& place) const {
  // After a rank has left cleanly, the job is over and would not accept another member.
  if (restart_count_ >= plan_.max_restarts || outcome_->clean_ends() > 0) return false;
  if (!mpi_->HasJoined(place.local_rank)) return true;
  starter_->Say(absl::StrCat("rank ", place.rank,
                             " cannot be restarted alone, because a new process cannot take its "
                             "place in MPI; --restart=group restarts all ranks"));
  return false;
}

void RankRecovery::BeginRestart(RankTable::Place* place, const RankEnd& end) {
  ++restart_count_;
  restarts_.push_back({place, end, ranks_->CleanUpAfter(*place)});
}

// Returns true when the rank has been restarted, or will not be.
bool RankRecovery::Continue(Restart* restart) {
  if (shutdown_->running() && !restart->cleanup.Step(SteadyNow())) return false;
  const std::string what = outcome_->Sentence(restart->end);
  absl::Status started = absl::CancelledError("the run is ending");
  if (shutdown_->running()) started = ranks_->Start(restart->place->local_rank);
  restart->end.forgiven = started.ok();
  link_->PublishRanks();
  outcome_->Add(restart->end);
  if (started.ok()) {
    link_->ReportStarted(*restart->place);
    starter_->Say(absl::StrCat(what, "; restarted as pid ", restart->place->pid, " (restart ",
                               restart_count_, " of at most ", plan_.max_restarts, ")"));
  } else if (shutdown_->running()) {
    shutdown_->BeginFailure(absl::StrCat(what, "; ", started.message()));
  }
  return true;
}

// ---- Restart of all ranks of the node ----

// Not while single ranks are restarted: then the job uses Muster.
bool RankRecovery::MayRestartGroup() const {
  if (plan_.restart == RestartScope::kRank || uses_muster_ || !restarts_.empty()) return false;
  // A process that cannot start threads cannot ask.
  if (plan_.restart == RestartScope::kAuto && !link_->can_query()) return false;
  return restart_count_ < plan_.max_restarts;
}

void RankRecovery::StepGroup() {
  switch (group_->Step()) {
    case GroupRestart::Next::kStep:
      return;
    case GroupRestart::Next::kOneByOne:
      return RestartOneByOne();
    case GroupRestart::Next::kStartAll:
      return StartGroup();
    case GroupRestart::Next::kOutlivedKill:
      // The run is over. RankShutdown reports all ranks that do not end.
      CancelGroup();
      return shutdown_->OnKillOutlived();
  }
}

void RankRecovery::RestartOneByOne() {
  uses_muster_ |= link_->uses_muster().value_or(false);
  const std::vector<HeldEnd> held = TakeHeldEnds();
  for (const HeldEnd& end : held) Settle(end.place, end.end, /*may_restart_group=*/false);
}

void RankRecovery::CancelGroup() {
  const bool reported = group_->ending();
  for (const HeldEnd& held : TakeHeldEnds()) {
    if (!reported) ReportEnd(*held.place, held.end, /*fatal=*/false);
    outcome_->Add(held.end);
  }
}

void RankRecovery::StartGroup() {
  ++restart_count_;
  const std::string what = group_->cause();
  const bool failed_here = group_->failed_here();
  const std::vector<HeldEnd> held = TakeHeldEnds();
  const absl::Status started = ranks_->StartAll();
  link_->PublishRanks();
  if (started.ok()) outcome_->ForgetCleanEnds();
  if (failed_here) {
    RankEnd failure = held.front().end;
    failure.forgiven = started.ok();
    outcome_->Add(failure);
  }
  if (!started.ok()) return shutdown_->BeginFailure(absl::StrCat(what, "; ", started.message()));
  for (int i = 0; i < plan_.nproc_per_node; ++i) link_->ReportStarted(ranks_->At(i));
  starter_->Say(absl::StrCat(what, "; all ranks of this node (", plan_.nproc_per_node,
                             ") were restarted (restart ", restart_count_, " of at most ",
                             plan_.max_restarts, ")"));
}

std::vector<HeldEnd> RankRecovery::TakeHeldEnds() {
  std::vector<HeldEnd> held = group_->ends();
  group_.reset();
  return held;
}

// ---- Fewer ranks ----

int RankRecovery::RanksLeft() const {
  return static_cast<int>(ranks_->Living().size() + restarts_.size()) + outcome_->clean_ends();
}

bool RankRecovery::MayContinue() const {
  if (mpi_->active()) return false;  // MPI cannot
  return plan_.min_world_size < plan_.world_size() && RanksLeft() >= plan_.min_world_size;
}

void RankRecovery::AnnounceLostRank(const RankEnd& end) {
  starter_->Say(absl::StrCat(outcome_->Sentence(end), "; the job goes on with ", RanksLeft(),
                             " of ", plan_.world_size(), " ranks"));
}

}  // namespace muster::launcher
