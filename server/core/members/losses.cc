// Losses of members, and what follows from them.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/api/validation.h"
#include "server/core/members/membership.h"

namespace muster::core {
namespace {

bool IsClean(const ExitReport& report) { return !report.signaled && report.code == 0; }

// Describes the end of a process that ended with status 0 too early.
std::string DescribeCleanExit(const Member& member) {
  if (!member.rank()) return "ended with 0 while it waited for a place";
  if (member.leaving()) return "ended with 0 before every other rank had called Leave()";
  return "ended with 0 without Leave(); call job->Leave() before main returns";
}

// SDKs read this text (client/src/protocol/messages/named_members.h), and those of time-outs.
std::string DescribeLoss(const Member& lost) {
  return absl::StrCat(lost.Describe(), " was lost at ",
                      absl::FormatTime("%H:%M:%E3SZ", lost.lost()->when, absl::UTCTimeZone()), ": ",
                      lost.lost()->cause, "; ", lost.lost()->activity);
}

// Repeats the answer to a report that has come before. A launcher sends its report again if it gets
// no answer in time, even if the first one has arrived. With another answer, it would take a rank
// that has not called Leave() for one that has.
Answer RepeatAnswer(Member* member, const ExitReport& report) {
  const bool repeated = member->rank() && member->lost() &&
                        member->lost()->cause == Membership::Ended(member, report).cause;
  if (!repeated) return {};
  return ExitAnswer{IsClean(report) && !member->leaving(), DescribeLoss(*member)};
}

Membership::Loss Silenced(const JobContext& job, Member* member) {
  if (member->stopped_since) {
    return {
        member, LossCause::kStopped,
        absl::StrCat("its process has been stopped (SIGSTOP) for ",
                     DescribeDuration(job.now - *member->stopped_since), " and does not answer")};
  }
  return {member, LossCause::kCutOff,
          absl::StrCat("its connection ended (process died, node down or network cut) and it did "
                       "not come back within ",
                       absl::FormatDuration(job.options.member_grace))};
}

absl::Status CheckReport(const JobContext& job, const std::string& job_id,
                         const Incarnation& incarnation) {
  if (job.draining) return absl::UnavailableError(*job.draining);
  if (job_id.empty()) return absl::InvalidArgumentError("job_id is empty");
  if (absl::Status s = job.CheckJob(job_id); !s.ok()) return s;
  if (incarnation.size() == kIncarnationBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("incarnation has ", incarnation.size(), " bytes; expected ", kIncarnationBytes));
}

}  // namespace

absl::Status Membership::Receive(WaiterId waiter, const ExitReport& report) {
  absl::Status s = CheckReport(job_, report.job_id, report.incarnation);
  if (s.ok()) s = CheckOptionalName("given_up", report.given_up, kMaxGivenUpBytes);
  if (!s.ok()) return s;
  if (!report.given_up.empty()) give_up_policy_.NoteGivenUp(report);
  give_up_policy_.Forget(report.incarnation);
  Answer answer;
  Member* const member = report.started ? members_.Find(report.incarnation) : nullptr;
  if (member != nullptr) {
    answer = NoteExit(member, report);
  } else if (report.started && !epoch() && early_exits_.size() < job_.options.limits.max_members) {
    early_exits_[report.incarnation] = report;
  }
  calls_.Respond(waiter, std::move(answer));
  return absl::OkStatus();
}

absl::Status Membership::Receive(WaiterId waiter, const ProcessStateReport& report) {
  if (absl::Status s = CheckReport(job_, report.job_id, report.incarnation); !s.ok()) return s;
  calls_.Respond(waiter);
  Member* member = members_.Find(report.incarnation);
  if (member == nullptr) give_up_policy_.Expect(report.incarnation);
  if (member == nullptr || member->gone()) return absl::OkStatus();
  if (report.stopped == member->stopped_since.has_value()) return absl::OkStatus();
  job_.Log(Severity::kWarning,
           report.stopped
               ? absl::StrCat(member->Describe(), " is stopped (SIGSTOP), ",
                              member->activity.Describe(job_.now),
                              "; it is lost once it has not answered for the keepalive time-out")
               : absl::StrCat(member->Describe(), " goes on after it was stopped for ",
                              DescribeDuration(job_.now - *member->stopped_since)),
           report.stopped ? "stopped" : "continued");
  member->stopped_since = report.stopped ? std::optional<Time>(job_.now) : std::nullopt;
  return absl::OkStatus();
}

Membership::Loss Membership::Ended(Member* member, const ExitReport& report) {
  return {member, report.signaled ? LossCause::kSignaled : LossCause::kExited,
          IsClean(report) ? DescribeCleanExit(*member) : DescribeExit(report.signaled, report.code),
          report.logged_by_launcher};
}

Answer Membership::NoteExit(Member* member, const ExitReport& report) {
  if (member->gone()) return RepeatAnswer(member, report);
  if (member->rank() && life_.state() == JobState::kFailed) {
    job_.Log(Severity::kDebug, absl::StrCat(member->Describe(), " ended after the failure: ",
                                            DescribeExit(report.signaled, report.code)));
    MarkLeft(member);
  } else if (life_.recovering() && member->awaited() && IsClean(report)) {
    // It may have left through an earlier daemon: see LoseAbsent().
    members_.NoteExit(member, report);
  } else {
    const bool has_place = member->rank().has_value();  // else Lose() deletes it
    Lose({Ended(member, report)});
    if (has_place) return ExitAnswer{IsClean(report) && !member->leaving(), DescribeLoss(*member)};
  }
  return {};
}

void Membership::Lose(const std::vector<Loss>& losses) {
  std::vector<Member*> of_epoch;
  bool all_logged_by_launcher = true;
  for (const auto& [member, kind, cause, logged_by_launcher] : losses) {
    if (member->gone()) continue;
    Count(kind, &job_.tally.counters.losses);
    // A launcher's report may come before the end of the connection.
    member->activity.CutOff(job_.now);
    RecordLoss(member,
               {member->rank(), member->identity, cause, job_.now,
                member->activity.Describe(job_.now, "before")},
               logged_by_launcher);
    if (member->rank()) {
      of_epoch.push_back(member);
      all_logged_by_launcher = all_logged_by_launcher && logged_by_launcher;
    } else {
      Remove(member);
    }
  }
  if (!of_epoch.empty() && !epoch()->broken()) Break(of_epoch, all_logged_by_launcher);
}

void Membership::RecordLoss(Member* member, Failure failure, bool logged_by_launcher) {
  const absl::Status status = absl::AbortedError(
      absl::StrCat("this process, ", member->Describe(), ", was lost: ", failure.cause));
  // A debug line, if another line tells of the loss: the end of the epoch (for a member of it), an
  // earlier failure of the job, or a refused place.
  const bool consequence =
      !member->rank() && (life_.state() == JobState::kFailed || member->refused);
  job_.Log(member->rank() || consequence ? Severity::kDebug : Severity::kError,
           absl::StrCat(member->Describe(), " was lost: ", failure.cause, "; ", failure.activity),
           "loss", logged_by_launcher);
  FinishAllOf(member, status);
  joining_.StopSeeking(member);
  if (member->attached()) EndStream(member, status);
  leases_.Forget(*member);
  if (!consequence) life_.NoteFailure(failure);
  members_.MarkLost(member, std::move(failure));
  joining_.NoteChange();
}

void Membership::Break(const std::vector<Member*>& lost, bool logged_by_launcher) {
  std::string reason = DescribeLoss(*lost.front());
  if (lost.size() > 1) {
    std::vector<uint32_t> other_ranks;
    for (const Member* member : lost) other_ranks.push_back(*member->rank());
    other_ranks.erase(other_ranks.begin());
    std::sort(other_ranks.begin(), other_ranks.end());
    absl::StrAppend(&reason, "; also lost: ", Ranks(other_ranks));
  }
  BreakEpoch(reason, logged_by_launcher);
}

// Does not end deferred calls, which are answered when they are served.
void Membership::BreakEpoch(const std::string& reason, bool logged_by_launcher) {
  life_.Break(job_.out.WithoutJob(reason));
  forming_.StartReforming();
  job_.Log(Severity::kError,
           absl::StrCat(job_.elastic() ? "the epoch is broken: " : "the job has failed: ",
                        life_.reason()),
           /*kind=*/"", logged_by_launcher);
  life_.LogStragglers();
  const SharedEvent broken = BrokenEvent(/*may_rejoin=*/job_.elastic());
  const SharedEvent over = BrokenEvent(/*may_rejoin=*/false);
  for (Member* member : epoch()->members()) {
    if (member->gone()) continue;
    job_.Send(*member, member->leaving() ? over : broken,
              /*urgent=*/calls_.parked().CountOf(*member) == 0);
    if (life_.recovering()) continue;
    if (member->leaving()) MarkLeft(member);
    FinishServedOf(member, epoch()->broken_status());
  }
}

SharedEvent Membership::BrokenEvent(bool may_rejoin) const {
  EpochBroken event{epoch()->id(), life_.reason(), {}, may_rejoin};
  for (const Member* member : epoch()->members()) {
    if (member->lost()) event.failures.push_back(*member->lost());
  }
  return job_.out.Share(std::move(event));
}

void Membership::ApplyBrokenClaim(const BrokenClaim& claim) {
  for (const FailureClaim& failure : claim.failures) {
    Member* member = members_.Find(failure.member.incarnation);
    if (member == nullptr || !member->rank() || member->gone()) continue;
    RecordLoss(member, {member->rank(), member->identity, failure.cause, job_.now - failure.age,
                        failure.activity});
  }
  BreakEpoch(claim.reason);
}

bool Membership::TryLoseDetached() {
  if (members_.NextGrace() > job_.now) return false;
  std::vector<Loss> losses;
  for (Member* member : members_.TakeExpiredGraces(job_.now)) {
    losses.push_back(Silenced(job_, member));
  }
  Lose(losses);
  return true;
}

void Membership::ApplyEarlyExits() {
  for (Member* member : epoch()->members()) {
    auto early = early_exits_.extract(member->incarnation());
    if (!early.empty()) NoteExit(member, early.mapped());
  }
}

}  // namespace muster::core
