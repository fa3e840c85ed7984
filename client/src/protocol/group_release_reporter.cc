#include "client/src/protocol/group_release_reporter.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::internal {
namespace {

// How many changes make a batch, and how long a change waits for more. Without batches, a program
// that names a group in each step would send two more messages per step.
constexpr size_t kChangesPerReport = 8;
constexpr absl::Duration kReportDelay = absl::Milliseconds(500);
// The coordinator's limit.
constexpr int kMaxReportedGroups = 1024;

}  // namespace

GroupReleaseReporter::GroupReleaseReporter(const SessionState& session,
                                           const MemberLifecycle& lifecycle, MemberEpochs* epochs,
                                           PendingCalls* calls, MemberOutbox* outbox)
    : session_(session),
      lifecycle_(lifecycle),
      epochs_(*epochs),
      calls_(*calls),
      outbox_(*outbox) {}

void GroupReleaseReporter::Drop(SteadyTime now, const GroupId& group) {
  MemberGroup* const dropped = epochs_.Drop(group);
  if (dropped != nullptr && !dropped->release.closed()) NoteChange(now, dropped);
}

void GroupReleaseReporter::NoteChange(SteadyTime now, MemberGroup* group) {
  group->release.NoteChange(++last_change_);
  ReportBy(++unreported_changes_ < kChangesPerReport ? After(now, kReportDelay) : now);
}

void GroupReleaseReporter::ReportBy(SteadyTime when) {
  report_at_ = std::min(report_at_.value_or(SteadyTime::max()), when);
}

void GroupReleaseReporter::Reset() {
  report_at_.reset();
  unknown_closed_.clear();
}

void GroupReleaseReporter::NoteClaimed() {
  for (const auto& [key, group] : epochs_.groups()) group->release.Claimed();
  unreported_changes_ = 0;
  Reset();
}

bool GroupReleaseReporter::CanReport() const {
  return report_call_ == 0 && session_.session() && lifecycle_.can_call();
}

SteadyTime GroupReleaseReporter::NextDeadline() const {
  return CanReport() ? report_at_.value_or(SteadyTime::max()) : SteadyTime::max();
}

bool GroupReleaseReporter::HasChanges() const {
  const auto& groups = epochs_.groups();
  return !unknown_closed_.empty() ||
         std::any_of(groups.begin(), groups.end(), [](const auto& entry) {
           return entry.second->release.unreported_change() != 0;
         });
}

bool GroupReleaseReporter::Report(SteadyTime now) {
  if (!report_at_ || now < *report_at_ || !CanReport()) return false;
  report_at_.reset();
  unreported_changes_ = 0;
  if (!HasChanges()) return false;  // the program has taken the groups back since
  PendingCall call = calls_.NewInBackground(now, "reporting released groups");
  call.epoch = EpochOf(epochs_.place()->epoch());
  call.only_in = session_.session();
  const auto batch = std::make_shared<ReportedBatch>();
  call.request = [this, batch](SteadyTime) { return MakeReport(batch.get()); };
  call.on_end = [this, batch](const PendingCall& ended, auto* reply) {
    FinishReport(*batch, ended, *reply);
  };
  report_call_ = calls_.BeginInBackground(std::move(call));
  return true;
}

// Collects the changes anew for each send, because groups may have changed since the send before.
Request GroupReleaseReporter::MakeReport(ReportedBatch* batch) const {
  *batch = ReportedBatch();
  Request request = MakeRelease(EpochOf(epochs_.place()->epoch()));
  auto& report = std::get<v1::ReleaseGroupsRequest>(request);
  const auto is_full = [&report] {
    return report.released_size() + report.closed_size() >= kMaxReportedGroups;
  };
  for (const std::string& digest : unknown_closed_) {
    if (is_full()) break;
    report.add_closed(digest);
    batch->unknown.push_back(digest);
  }
  for (const auto& [key, group] : epochs_.groups()) {
    if (group->release.unreported_change() == 0 || is_full()) continue;
    batch->groups.emplace_back(group->digest, group->release.unreported_change());
    if (group->release.closed()) {
      report.add_closed(group->digest);
      continue;
    }
    v1::ReleasedGroup* const released = report.add_released();
    released->set_digest(group->digest);
    released->set_next_sequence(group->sequence.number());
  }
  return request;
}

void GroupReleaseReporter::FinishReport(const ReportedBatch& batch, const PendingCall& call,
                                        const absl::StatusOr<Response>& reply) {
  report_call_ = 0;
  if (!call.answered) return;  // the next claim tells it
  for (const std::string& digest : batch.unknown) unknown_closed_.erase(digest);
  std::set<std::string> unchanged;
  for (const auto& [digest, change] : batch.groups) {
    MemberGroup* const group = epochs_.FindDigest(digest);
    if (group == nullptr || group->release.unreported_change() != change) continue;
    group->release.Reported();
    unchanged.insert(digest);
  }
  if (reply.ok()) {
    for (const std::string& digest : std::get<v1::ReleaseGroupsResponse>(*reply).settled()) {
      if (unchanged.count(digest) > 0) TakeSettled(epochs_.FindDigest(digest));
    }
  }
  if (HasChanges()) ReportBy(After(call.ended, kReportDelay));
}

void GroupReleaseReporter::TakeClosings(SteadyTime now, const v1::GroupsClosed& closings) {
  if (!epochs_.IsIn(EpochOf(closings.epoch()))) return;
  for (const std::string& digest : closings.closed()) TakeClosed(now, digest);
  for (const std::string& digest : closings.settled()) {
    MemberGroup* const group = epochs_.FindDigest(digest);
    if (group != nullptr && group->release.MaySettle()) TakeSettled(group);
  }
}

void GroupReleaseReporter::TakeClosed(SteadyTime now, const std::string& digest) {
  MemberGroup* const group = epochs_.FindDigest(digest);
  if (group == nullptr) {
    unknown_closed_.insert(digest);
    return ReportBy(After(now, kReportDelay));
  }
  if (group->release.Close()) Restart(group);
  NoteChange(now, group);
}

void GroupReleaseReporter::Restart(MemberGroup* group) {
  calls_.Drop(group->arrivals.EndWithdrawal());
  calls_.RestartCallsOf(*group);
  if (group->at_node != nullptr) outbox_.Add(RetireFanInGroup{group->at_node->name});
  group->Restart();
}

// If a call has waited for this, it becomes the group's first one.
void GroupReleaseReporter::TakeSettled(MemberGroup* group) {
  group->release.Settle();
  if (!calls_.IsCalled(*group)) epochs_.ForgetGroup(*group);
}

absl::string_view GroupReleaseReporter::BlockedBy(SteadyTime now, const MemberGroup& group) {
  const bool may_call = group.is_world() || !(group.release.closed() || epochs_.IsNameInUse(group));
  if (may_call) return "";
  if (report_at_) ReportBy(now);
  return "this process has released an earlier group of this name; the name can be used again once "
         "the other ranks have released it too and know that all have";
}

}  // namespace muster::internal
