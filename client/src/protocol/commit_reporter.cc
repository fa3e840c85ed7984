#include "client/src/protocol/commit_reporter.h"

#include <algorithm>
#include <map>
#include <utility>

#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

// How many commits make a report, and how long a commit waits for more.
constexpr size_t kCommitsPerReport = 64;
constexpr absl::Duration kCommitReportDelay = absl::Milliseconds(20);
// The coordinator's limit.
constexpr size_t kMaxReported = 1024;
// How many commits wait while the coordinator is slow. The oldest are then left out of its
// statistics: the later ones tell it how far the group is.
constexpr size_t kMaxKept = 4 * kMaxReported;

}  // namespace

CommitReporter::CommitReporter(const SessionState& session, const MemberLifecycle& lifecycle,
                               const MemberEpochs& epochs, PendingCalls* calls)
    : session_(session), lifecycle_(lifecycle), epochs_(epochs), calls_(*calls) {}

void CommitReporter::Note(SteadyTime now, const std::shared_ptr<MemberGroup>& group,
                          v1::NodeCommit commit) {
  unreported_.push_back({group, group->lives, std::move(commit)});
  if (unreported_.size() > kMaxKept) unreported_.pop_front();
  ReportBy(unreported_.size() < kCommitsPerReport ? After(now, kCommitReportDelay) : now);
}

void CommitReporter::Reset() {
  unreported_.clear();
  report_at_.reset();
}

void CommitReporter::ReportBy(SteadyTime when) {
  if (unreported_.empty()) return;
  report_at_ = std::min(report_at_.value_or(SteadyTime::max()), when);
}

// A member that is leaving still reports: Leave waits for it.
bool CommitReporter::CanReport() const {
  return report_call_ == 0 && session_.session() && !lifecycle_.is_over() && epochs_.Health().ok();
}

SteadyTime CommitReporter::NextDeadline() const {
  return CanReport() ? report_at_.value_or(SteadyTime::max()) : SteadyTime::max();
}

bool CommitReporter::Report(SteadyTime now) {
  if (!report_at_ || now < *report_at_ || !CanReport()) return false;
  report_at_.reset();
  PendingCall call =
      calls_.NewInBackground(now, "reporting collectives that completed on the node");
  call.epoch = EpochOf(epochs_.place()->epoch());
  call.before_leave = true;
  call.only_in = session_.session();
  call.request = [this, batch = TakeBatch()](SteadyTime) { return MakeReport(batch); };
  call.on_end = [this](const PendingCall& ended, auto*) { FinishReport(ended); };
  report_call_ = calls_.BeginInBackground(std::move(call));
  return true;
}

CommitReporter::Batch CommitReporter::TakeBatch() {
  if (unreported_.size() <= kMaxReported) return std::exchange(unreported_, {});
  const auto end = unreported_.begin() + kMaxReported;
  Batch batch(std::make_move_iterator(unreported_.begin()), std::make_move_iterator(end));
  unreported_.erase(unreported_.begin(), end);
  return batch;
}

// Leaves out commits of a group that was closed since. Its next life has other numbers.
Request CommitReporter::MakeReport(const Batch& batch) const {
  Request request = MakeCommitReport(EpochOf(epochs_.place()->epoch()));
  auto& report = std::get<v1::ReportCommitsRequest>(request);
  std::map<const MemberGroup*, v1::GroupCommits*> by_group;
  for (const Commit& entry : batch) {
    if (entry.life != entry.group->lives) continue;
    v1::GroupCommits*& commits = by_group[entry.group.get()];
    if (commits == nullptr) {
      commits = report.add_groups();
      SetGroup(entry.group->name, {}, commits->mutable_group());
    }
    *commits->add_commits() = entry.commit;
  }
  return request;
}

// Begins the next report at once if it is due, so that Leave waits for that one too. If the
// coordinator has not answered, the session has ended, and the next claim tells it.
void CommitReporter::FinishReport(const PendingCall& call) {
  report_call_ = 0;
  const bool many = unreported_.size() >= kCommitsPerReport;
  ReportBy(many || !lifecycle_.can_call() ? call.ended : After(call.ended, kCommitReportDelay));
  Report(call.ended);
}

}  // namespace muster::internal
