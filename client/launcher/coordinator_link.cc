#include "client/launcher/coordinator_link.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "common/process/steady_now.h"

namespace muster::launcher {
namespace {

// How long the coordinator waits for a job to form after a node has given up.
constexpr absl::Duration kGivingUp = absl::Seconds(5);

}  // namespace

CoordinatorLink::CoordinatorLink(const JobPlan* plan, const RankTable* ranks, EventLoop* loop,
                                 RankStarter* starter)
    : plan_(*plan), ranks_(*ranks), loop_(loop), starter_(starter) {}

void CoordinatorLink::Open(Handlers handlers) {
  reporter_ = std::make_unique<RankReporter>(plan_, clients_);
  if (const absl::Status& started = reporter_->started(); !started.ok()) {
    starter_->Say(
        absl::StrCat("cannot report to the coordinator how ranks end on this node, so it notices "
                     "their loss later: ",
                     started.message()));
  }
  loop_->Watch(reporter_->fd(), std::move(handlers.on_losses));
  responder_ = std::make_unique<InquiryResponder>(plan_, clients_, starter_->output_tails());
  PublishRanks();
  loop_->Watch(responder_->fd(), [this] { PrintMessages(); });
  const bool has_other_nodes = plan_.nnodes > 1 || !plan_.hosted;
  if (has_other_nodes) OpenWatch(std::move(handlers.on_job_failed));
}

void CoordinatorLink::OpenWatch(std::function<void(const std::string& reason)> on_job_failed) {
  watch_ = std::make_unique<JobWatch>(plan_, clients_);
  if (const absl::Status& started = watch_->started(); !started.ok()) {
    starter_->Say(absl::StrCat(
        "cannot watch the job, so a failure on another node does not end the ranks here: ",
        started.message()));
  }
  for (int local_rank = 0; local_rank < plan_.nproc_per_node; ++local_rank) {
    if (ranks_.At(local_rank).alive) ReportStarted(ranks_.At(local_rank));
  }
  loop_->Watch(watch_->fd(), [this, on_job_failed = std::move(on_job_failed)] {
    loop_->Forget(watch_->fd());
    on_job_failed(watch_->reason());
  });
}

void CoordinatorLink::Close(absl::Duration patience) {
  if (muster_use_query_ != nullptr) loop_->Forget(muster_use_query_->fd());
  if (watch_ != nullptr) loop_->Forget(watch_->fd());
  if (responder_ != nullptr) loop_->Forget(responder_->fd());
  if (reporter_ != nullptr) loop_->Forget(reporter_->fd());
  muster_use_query_.reset();
  watch_.reset();
  responder_.reset();
  reporter_.reset();
  clients_->Close(patience);
}

void CoordinatorLink::ReportStarted(const RankTable::Place& place) {
  if (watch_ == nullptr) return;
  watch_->AddOwn(IncarnationOf(place.secret));
  reporter_->ReportStarted(place.secret);
}

void CoordinatorLink::ReportStopped(const RankTable::Place& place, bool stopped) {
  if (open()) reporter_->ReportStopped(place.secret, stopped);
}

// An end without a replacement is a loss once the epoch exists. Before that, `given_up` keeps the
// other nodes from waiting for it.
void CoordinatorLink::ReportEnd(const RankTable::Place& place, const RankEnd& end,
                                const std::string& given_up) {
  if (!open()) return;
  const bool gives_up = !given_up.empty() && watch_ != nullptr && !watch_->formed();
  reporter_->ReportEnd(place.secret, end.pid, end.end, gives_up ? given_up : "");
  gave_up_ |= gives_up;
}

void CoordinatorLink::PublishRanks() {
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

std::vector<RankReporter::Loss> CoordinatorLink::TakeLosses() {
  if (!open()) return {};
  return reporter_->TakeLosses();
}

void CoordinatorLink::Flush() {
  if (open()) reporter_->Flush();
}

absl::Duration CoordinatorLink::FailureDelay() const {
  if (watch_ == nullptr) return absl::ZeroDuration();
  return JobWatch::Delay(plan_) + (gave_up_ ? kGivingUp : absl::ZeroDuration());
}

void CoordinatorLink::QueryMusterUse() {
  if (muster_use_query_ != nullptr) loop_->Forget(muster_use_query_->fd());
  std::vector<std::string> own;
  for (int local_rank = 0; local_rank < plan_.nproc_per_node; ++local_rank) {
    own.push_back(IncarnationOf(ranks_.At(local_rank).secret));
  }
  muster_use_query_ = std::make_unique<MusterUseQuery>(plan_, clients_, std::move(own),
                                                       SteadyNow() - ranks_.first_start());
  loop_->Watch(muster_use_query_->fd(), [this] { loop_->Forget(muster_use_query_->fd()); });
}

void CoordinatorLink::PrintMessages() {
  if (responder_ == nullptr) return;
  for (const std::string& line : responder_->TakeMessages()) starter_->Say(line);
}

}  // namespace muster::launcher
