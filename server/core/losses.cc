// Losses of members, and what follows from them.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

constexpr size_t kIncarnationBytes = 16;
constexpr size_t kMaxFailuresKept = 64;

bool IsClean(const ExitReport& report) { return !report.signaled && report.code == 0; }

}  // namespace

void Coordinator::Impl::ExpireGraces() {
  std::vector<Loss> losses;
  while (std::optional<Incarnation> incarnation = graces_.Pop(now_)) {
    Member* member = members_.at(*incarnation).get();
    const std::string why =
        member->stopped_since
            ? absl::StrCat("its process has been stopped (SIGSTOP) for ",
                           HowLong(now_ - *member->stopped_since), " and does not answer")
            : absl::StrCat(
                  "its connection ended (process died, node down or network cut) and it "
                  "did not come back within ",
                  absl::FormatDuration(options_.member_grace));
    losses.emplace_back(member, why);
  }
  if (!losses.empty()) Lose(losses);
}

absl::Status Coordinator::Impl::CheckReport(const std::string& job_id,
                                            const Incarnation& incarnation) const {
  if (draining_) return absl::UnavailableError(*draining_);
  if (job_id.empty()) return absl::InvalidArgumentError("job_id is empty");
  if (absl::Status s = CheckJob(job_id); !s.ok()) return s;
  if (incarnation.size() == kIncarnationBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("incarnation has ", incarnation.size(), " bytes; expected ", kIncarnationBytes));
}

absl::Status Coordinator::Impl::ReportExit(WaiterId waiter, const ExitReport& report) {
  if (absl::Status s = CheckReport(report.job_id, report.incarnation); !s.ok()) return s;
  Respond(waiter);
  const auto it = members_.find(report.incarnation);
  if (it != members_.end()) {
    NoteExit(it->second.get(), report);
  } else if (!epoch_ && early_exits_.size() < options_.limits.max_members) {
    early_exits_[report.incarnation] = report;
  }
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::ReportProcessState(WaiterId waiter,
                                                   const ProcessStateReport& report) {
  if (absl::Status s = CheckReport(report.job_id, report.incarnation); !s.ok()) return s;
  Respond(waiter);
  const auto it = members_.find(report.incarnation);
  if (it == members_.end() || it->second->gone()) return absl::OkStatus();
  Member* member = it->second.get();
  if (report.stopped == member->stopped_since.has_value()) return absl::OkStatus();
  Log(Severity::kWarning,
      report.stopped
          ? absl::StrCat(member->who(), " is stopped (SIGSTOP), ", member->activity.Words(now_),
                         "; it is lost once it has not answered for the keepalive time-out")
          : absl::StrCat(member->who(), " goes on after it was stopped for ",
                         HowLong(now_ - *member->stopped_since)));
  member->stopped_since = report.stopped ? std::optional<Time>(now_) : std::nullopt;
  return absl::OkStatus();
}

std::string Coordinator::Impl::ExitCause(const ExitReport& report) const {
  return absl::StrCat(ExitWords(report.signaled, report.code),
                      IsClean(report) ? " without leaving the job" : "");
}

void Coordinator::Impl::NoteExit(Member* member, const ExitReport& report) {
  if (member->gone()) return;
  if (member->rank && state_ == JobState::kFailed) {
    Log(Severity::kWarning, absl::StrCat(member->who(), " ended after the failure: ",
                                         ExitWords(report.signaled, report.code)));
    MarkLeft(member);
    return TryEndRecovery();
  }
  if (recovering() && member->awaited() && IsClean(report)) {
    // It may have left through the daemon before this one: see EndRecovery.
    member->exit = report;
    return TryEndRecovery();
  }
  Lose({{member, ExitCause(report)}});
}

void Coordinator::Impl::Lose(const std::vector<Loss>& losses) {
  std::vector<Member*> of_epoch;
  for (const auto& [member, cause] : losses) {
    if (member->gone()) continue;
    RecordLoss(member, cause);
    if (member->rank) {
      of_epoch.push_back(member);
    } else {
      Remove(member);
    }
  }
  if (!of_epoch.empty() && epoch_->broken.ok()) Break(of_epoch);
  if (state_ == JobState::kReforming) FormationChanged();
  TryFinishLeaving();
  ResolveContenders();
  TryEndRecovery();
}

void Coordinator::Impl::RecordLoss(Member* member, const std::string& cause) {
  const absl::Status status =
      absl::AbortedError(absl::StrCat("this process, ", member->who(), ", was lost: ", cause));
  const std::string activity = member->activity.Words(now_, "before");
  graces_.Clear(member->identity.incarnation);
  FinishAllOf(member, status);
  if (member->attached()) EndStream(member, status);
  leases_.Forget(member->identity.incarnation);
  member->lost = Failure{member->rank, member->identity, cause, now_, activity};
  failures_.push_front(*member->lost);
  if (failures_.size() > kMaxFailuresKept) failures_.pop_back();
  Log(Severity::kError, absl::StrCat(member->who(), " was lost: ", cause, "; ", activity));
}

void Coordinator::Impl::Break(const std::vector<Member*>& lost) {
  const Member& first = *lost.front();
  std::string reason =
      absl::StrCat(first.who(), " was lost at ",
                   absl::FormatTime("%H:%M:%E3SZ", first.lost->when, absl::UTCTimeZone()), ": ",
                   first.lost->cause, "; ", first.lost->activity);
  if (lost.size() > 1) {
    std::vector<uint32_t> others;
    for (const Member* member : lost) others.push_back(*member->rank);
    others.erase(others.begin());
    std::sort(others.begin(), others.end());
    absl::StrAppend(&reason, "; also lost: ", Ranks(others));
  }
  BreakEpoch(reason);
}

// Every parked call of the epoch ends, and every member is told. Calls that are put off are
// answered when they are served.
void Coordinator::Impl::BreakEpoch(const std::string& reason) {
  reason_ = reason;
  state_ = elastic() ? JobState::kReforming : JobState::kFailed;
  epoch_->broken = absl::AbortedError(reason_);
  Log(Severity::kError,
      absl::StrCat(elastic() ? "the epoch is broken: " : "the job has failed: ", reason_));
  for (Member* member : epoch_->members) {
    if (member->gone()) continue;
    SendBroken(member, /*urgent=*/member->parked.empty());
    if (recovering()) continue;
    if (member->leaving) MarkLeft(member);
    FinishServedOf(member, epoch_->broken);
  }
  if (elastic() && !recovering()) StartReforming();
}

void Coordinator::Impl::SendBroken(Member* member, bool urgent) {
  EpochBroken event{epoch_->id, Say(reason_), {}, elastic() && !member->leaving};
  for (const Member* other : epoch_->members) {
    if (other->lost) event.failures.push_back(*other->lost);
  }
  Send(member, std::move(event), urgent);
}

}  // namespace muster::core
