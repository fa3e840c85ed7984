// The failure of a forming job that waits for a place which no process will take.

#include "server/core/formation/give_up_policy.h"

#include "absl/strings/str_cat.h"

namespace muster::core {
namespace {

// A restarted daemon may hear that a node has given up before it hears of the running epoch that
// makes this irrelevant. Members are back within a second or two.
constexpr absl::Duration kGivenUpPause = absl::Seconds(5);

}  // namespace

void GiveUpPolicy::Expect(const Incarnation& process) {
  if (FormsOnce()) expected_.Add(process, job_.options.limits.max_members);
}

// Ignores reports about elastic jobs, in which others may fill the place, and about running epochs,
// in which the loss itself is reported.
void GiveUpPolicy::NoteGivenUp(const ExitReport& report) {
  if (!FormsOnce() || given_up_) return;
  const uint32_t places = joining_.Places();
  if (places != 0 && !expected_.MayGiveUp(report.incarnation, places)) {
    job_.Log(Severity::kDebug,
             absl::StrCat("a launcher whose ranks have none of the ", places,
                          " places has given up: ", report.given_up,
                          "; the job goes on forming, since enough other processes have come"));
    return;
  }
  given_up_ = GivenUp{report.given_up, job_.now + kGivenUpPause};
  job_.Log(Severity::kInfo, absl::StrCat("the launcher of a node has given up its ranks: ",
                                         report.given_up, "; the job fails in ",
                                         absl::FormatDuration(kGivenUpPause), " unless it forms"));
}

Time GiveUpPolicy::NextStep() const {
  return given_up_ && !life_.recovering() ? given_up_->fails_at : absl::InfiniteFuture();
}

bool GiveUpPolicy::TryFail() {
  if (NextStep() > job_.now) return false;
  life_.Fail(absl::StrCat("it cannot form, because the launcher of a node has given up its ranks: ",
                          given_up_->why));
  given_up_.reset();
  const std::string failed = absl::StrCat("the job has failed: ", life_.reason());
  job_.Log(Severity::kError, failed);
  joining_.RefuseCandidates(absl::AbortedError(failed));
  return true;
}

void GiveUpPolicy::Clear() {
  expected_.Clear();
  given_up_.reset();
}

bool GiveUpPolicy::FormsOnce() const {
  return !job_.elastic() && life_.epoch() == nullptr && life_.state() == JobState::kForming;
}

}  // namespace muster::core
