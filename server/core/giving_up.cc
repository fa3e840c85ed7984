// What a job that forms waits for in vain: a place that nobody will take.

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {
namespace {

// A daemon that was restarted may hear of a failure before it hears of the epoch that this one is
// no matter of: members are back within a second or two.
constexpr absl::Duration kGivenUpPause = absl::Seconds(5);

}  // namespace

void Coordinator::Impl::Expect(const Incarnation& process) {
  if (FormsOnce()) expected_.Add(process, job_.options.limits.max_members);
}

// Of an elastic job others may fill the place; and what fails in an epoch, its end tells.
void Coordinator::Impl::NoteGivenUp(const ExitReport& report) {
  if (!FormsOnce() || given_up_) return;
  const uint32_t places = Places();
  if (places != 0 && !expected_.MayGiveUp(report.incarnation, places)) {
    job_.Log(Severity::kDebug,
             absl::StrCat("somebody who has none of the ", places,
                          " places has given his ranks up: ", report.given_up,
                          "; the job goes on forming, since as many other processes have come"));
    return;
  }
  given_up_ = GivenUp{report.given_up, job_.now + kGivenUpPause};
  job_.Log(Severity::kInfo,
           absl::StrCat("a node has given its ranks up: ", report.given_up, "; the job fails in ",
                        absl::FormatDuration(kGivenUpPause), " unless it forms"));
}

Time Coordinator::Impl::NextGivingUp() const {
  return given_up_ && !life_.recovering() ? given_up_->fails_at : absl::InfiniteFuture();
}

}  // namespace muster::core
