// Elastic jobs: the way from a broken epoch into the next one.
//
// Every survivor calls Rejoin. A survivor that is silent past the rejoin deadline is lost.
// Newcomers wait in Join, even while an epoch runs. formation.h says when the next epoch forms.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/formation/forming.h"
#include "server/core/job/member_state.h"

namespace muster::core {

// Returns the end of the settle time, which begins anew at each change. Its end has an upper bound,
// so that processes that come and go cannot put it off for ever.
Time Forming::SettleEnd() const {
  const Time quiet = joining_.changed() + job_.options.settle;
  if (life_.state() == JobState::kReforming) return std::min(quiet, rejoin_deadline_);
  return enough_since_ ? std::min(quiet, *enough_since_ + job_.options.rejoin_timeout) : quiet;
}

bool Forming::Settled() const { return job_.now >= SettleEnd(); }

// Ignores times that have passed: what was due by now was done in the step that set `now`.
Time Forming::NextStep() const {
  Time next = absl::InfiniteFuture();
  if (!job_.elastic() || !life_.forming()) return next;
  if (SettleEnd() > job_.now && !joining_.places().empty()) next = SettleEnd();
  if (life_.state() == JobState::kReforming && rejoin_deadline_ > job_.now) {
    next = std::min(next, rejoin_deadline_);
  }
  return next;
}

// Leaves out newcomers that make the job larger than it has ever been, because they replace no
// member.
uint32_t Forming::ReplacementsAmong(const std::vector<Member*>& chosen) const {
  if (!epoch()) return 0;
  const size_t newcomers = std::count_if(chosen.begin(), chosen.end(),
                                         [](const Member* member) { return !member->rank(); });
  const size_t largest = life_.history().largest_world_size;
  const size_t growth = chosen.size() > largest ? chosen.size() - largest : 0;
  return static_cast<uint32_t>(newcomers - std::min(newcomers, growth));
}

std::string Forming::TooManyReplacements(const std::vector<Member*>& chosen) const {
  const uint64_t most = job_.options.max_restarts_total;
  const uint64_t total = uint64_t{life_.history().replacements} + ReplacementsAmong(chosen);
  if (most == 0 || total <= most || total == life_.history().replacements) return "";
  // A process without a rank may have been lost since. The replacements do not stand in for it.
  const auto& failures = life_.failures();  // the latest first
  const auto latest = std::find_if(failures.begin(), failures.end(),
                                   [](const Failure& failure) { return failure.rank.has_value(); });
  const std::string last =
      latest == failures.end()
          ? life_.reason()
          : absl::StrCat(DescribeMember(latest->rank, latest->member, members_.node_names()),
                         " was lost: ", latest->cause);
  return absl::StrCat(
      total,
      " processes would by now have replaced lost ones, and musterd --max-restarts-total is ", most,
      "; the last loss: ", last);
}

void Forming::Fail(const std::string& reason) {
  life_.Fail(reason);
  job_.Log(Severity::kError, absl::StrCat("the job has failed: ", life_.reason()));
  joining_.RefuseCandidates(
      absl::FailedPreconditionError(absl::StrCat("the job has failed: ", life_.reason())));
}

absl::Status Forming::RejoinTimeout(const ParkedCall& call) {
  if (life_.state() == JobState::kRunning) {
    return absl::DeadlineExceededError(
        absl::StrCat("waited ", DescribeDuration(call.timeout), " for a place: epoch ",
                     epoch()->id().number, " runs with ", joining_.WorldSize(), " of ",
                     joining_.Places(), " members, and accepts newcomers only when it re-forms"));
  }
  if (!awaited_text_) {
    const bool some = members_.counts().awaited > 0;
    awaited_text_ = some ? absl::StrCat("; not yet rejoined: ",
                                        DescribeMembers(*epoch(), AwaitedRanks(*epoch()), job_.now))
                         : "";
  }
  return absl::DeadlineExceededError(absl::StrCat("waited ", DescribeDuration(call.timeout),
                                                  " for the next epoch: ", Decide().reason,
                                                  *awaited_text_));
}

bool Forming::RejoinIsOver() const {
  return life_.state() == JobState::kReforming && !life_.recovering() &&
         job_.now >= rejoin_deadline_;
}

void Forming::StartReforming() {
  rejoin_deadline_ = job_.now + job_.options.rejoin_timeout;
  joining_.NoteChange();
}

std::vector<Member*> Forming::SilentSurvivors() const {
  std::vector<Member*> silent;
  if (!RejoinIsOver() || members_.counts().awaited == 0) return silent;
  for (uint32_t rank : AwaitedRanks(*epoch())) silent.push_back(epoch()->members()[rank]);
  return silent;
}

bool Forming::TryFail() {
  if (!RejoinIsOver()) return false;
  Fail(absl::StrCat("no new epoch formed within ",
                    absl::FormatDuration(job_.options.rejoin_timeout), ": ", Decide().reason,
                    "; the last one ended because ", life_.reason()));
  return true;
}

absl::Status Forming::DescribeTimeout(const ParkedCall& call, const WaitForPlace& wait) {
  return wait.rejoins || epoch() != nullptr ? RejoinTimeout(call) : JoinTimeout(call);
}

absl::Status Forming::JoinTimeout(const ParkedCall& call) {
  const uint32_t size = joining_.WorldSize();
  return absl::DeadlineExceededError(absl::StrCat(
      "waited ", DescribeDuration(call.timeout), " for members: ", joining_.places().size(), " of ",
      size == 0 ? "an unknown number" : absl::StrCat(size), " have joined",
      joining_.DescribeCandidates(),
      size == 0 ? "; no process and no flag has given the world size: set MUSTER_WORLD_SIZE or "
                  "musterd --world-size"
                : "; check that every process was started and reaches this coordinator"));
}

}  // namespace muster::core
