// Elastic jobs: the way from a broken epoch into the next one.
//
// Every survivor calls Rejoin; one that is silent past the rejoin deadline is lost. Newcomers wait
// in Join, while an epoch runs too. formation.h says when the next epoch forms.

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"
#include "server/core/validation.h"

namespace muster::core {
namespace {

// Newcomers are announced to every member: not more often than this.
constexpr absl::Duration kAnnouncementInterval = absl::Seconds(1);

}  // namespace

// Members that an epoch of an elastic job has at most: as the flags say, else as many as a joiner
// has named or the epoch has.
uint32_t Coordinator::Impl::Places() const {
  const uint32_t flag =
      job_.options.max_world_size != 0 ? job_.options.max_world_size : job_.options.world_size;
  if (flag != 0) return flag;
  return std::max(places_.agreed_size(), epoch() ? epoch()->size() : 0);
}

absl::Status Coordinator::Impl::CheckContent(const Member& member,
                                             const RejoinRequest& request) const {
  return CheckClaim(member.identity, request.claim, job_.options.limits, job_.now);
}

absl::Status Coordinator::Impl::CheckRejoin(const Member& member,
                                            const RejoinRequest& request) const {
  if (!job_.elastic()) {
    return absl::FailedPreconditionError(
        "the job is not elastic: after a loss it has failed (musterd --min-world-size makes it "
        "elastic)");
  }
  if (!request.claim.epoch) {
    return absl::InvalidArgumentError("the claim names no epoch to leave");
  }
  if (!epoch() || !member.rank()) {
    return absl::FailedPreconditionError(
        absl::StrCat(member.who(), " has not joined the job; call Join"));
  }
  if (life_.state() == JobState::kFailed) {
    return absl::FailedPreconditionError(absl::StrCat("the job has failed: ", life_.reason()));
  }
  if (life_.state() == JobState::kFinished || member.gone() || member.leaving()) {
    return absl::FailedPreconditionError(absl::StrCat(member.who(), " has called Leave"));
  }
  if (request.claim.epoch->number > epoch()->id().number) {
    return absl::AbortedError(absl::StrCat("epoch ", request.claim.epoch->number,
                                           " is not one of this coordinator, which is in epoch ",
                                           epoch()->id().number));
  }
  return calls_.CanPark(member);
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const RejoinRequest& request) {
  if (absl::Status s = CheckRejoin(*member, request); !s.ok()) return s;
  ObserveNumbers(request.claim);
  const bool earlier = !(*request.claim.epoch == epoch()->id());
  if (earlier && !epoch()->broken()) {  // the answer that told it of its place was lost
    calls_.Respond(id, epoch()->PlaceOf(*member->rank(), life_.history()));
    return absl::OkStatus();
  }
  if (absl::Status s = CheckAttempt(*member, request.call); !s.ok()) return s;
  if (!epoch()->broken()) {
    BreakEpoch(absl::StrCat(member->who(), " asked for a new epoch; call Rejoin to be in it"));
  }
  SeekPlace(id, member, request.call, PlaceWish(), /*rejoins=*/true);
  job_.Log(Severity::kInfo, absl::StrCat(member->who(), " rejoins"), "rejoin");
  return absl::OkStatus();
}

// When the settle time is over: some time after the last change. But who comes and goes all the
// time does not put it off for ever.
Time Coordinator::Impl::SettleEnd() const {
  const Time quiet = formation_changed_ + job_.options.settle;
  if (life_.state() == JobState::kReforming) return std::min(quiet, rejoin_deadline_);
  return enough_since_ ? std::min(quiet, *enough_since_ + job_.options.rejoin_timeout) : quiet;
}

bool Coordinator::Impl::Settled() const { return job_.now >= SettleEnd(); }

// What is due by now was done in the step that came to now.
Time Coordinator::Impl::NextFormation() const {
  Time next = absl::InfiniteFuture();
  if (!job_.elastic() || !life_.forming()) return next;
  if (SettleEnd() > job_.now && !places_.empty()) next = SettleEnd();
  if (life_.state() == JobState::kReforming && rejoin_deadline_ > job_.now) {
    next = std::min(next, rejoin_deadline_);
  }
  return next;
}

// Somebody has come, gone or been lost: the settle time starts anew.
void Coordinator::Impl::FormationChanged() {
  formation_changed_ = job_.now;
  if (job_.elastic()) forming_stall_.Restart(job_.now);
}

std::optional<NewcomersWaiting> Coordinator::Impl::UntoldNewcomers() const {
  if (!job_.elastic() || life_.state() != JobState::kRunning || life_.recovering())
    return std::nullopt;
  const uint32_t places = Places();
  const NewcomersWaiting news{epoch()->id(), static_cast<uint32_t>(places_.size()),
                              places - std::min(places, WorldSize())};
  const bool none_before = !(announced_.epoch == news.epoch);
  if (none_before && news.waiting == 0) return std::nullopt;
  const bool same =
      announced_.waiting == news.waiting && announced_.free_places == news.free_places;
  return !none_before && same ? std::nullopt : std::optional(news);
}

// What may be told by now was told in the step that came to now.
Time Coordinator::Impl::NextAnnouncement() const {
  return UntoldNewcomers() ? next_announcement_ : absl::InfiniteFuture();
}

// Tells the running members how many wait for a place, so that they may choose to re-form. A crowd
// of newcomers is told of as one.
void Coordinator::Impl::AnnounceNewcomers() {
  const std::optional<NewcomersWaiting> news = UntoldNewcomers();
  if (!news || job_.now < next_announcement_) return;
  announced_ = *news;
  next_announcement_ = job_.now + kAnnouncementInterval;
  const SharedEvent event = job_.out.Share(*news);
  for (const Member* member : epoch()->members()) job_.Send(*member, event);
}

// Newcomers that make the job larger than it has ever been replace nobody.
uint32_t Coordinator::Impl::ReplacementsAmong(const std::vector<Member*>& chosen) const {
  if (!epoch()) return 0;
  const size_t newcomers = std::count_if(chosen.begin(), chosen.end(),
                                         [](const Member* member) { return !member->rank(); });
  const size_t largest = life_.history().largest_world_size;
  const size_t growth = chosen.size() > largest ? chosen.size() - largest : 0;
  return static_cast<uint32_t>(newcomers - std::min(newcomers, growth));
}

std::string Coordinator::Impl::TooManyReplacements(const std::vector<Member*>& chosen) const {
  const uint64_t most = job_.options.max_restarts_total;
  const uint64_t total = uint64_t{life_.history().replacements} + ReplacementsAmong(chosen);
  if (most == 0 || total <= most || total == life_.history().replacements) return "";
  const std::string last = failures_.empty()
                               ? life_.reason()
                               : absl::StrCat(Who(failures_.front().rank, failures_.front().member,
                                                  members_.node_names()),
                                              " was lost: ", failures_.front().cause);
  return absl::StrCat(total,
                      " processes would have taken the places of others by now, and "
                      "musterd --max-restarts-total is ",
                      most, "; the last one to go: ", last);
}

void Coordinator::Impl::FailReforming(const std::string& reason) {
  life_.Fail(reason);
  job_.Log(Severity::kError, absl::StrCat("the job has failed: ", life_.reason()));
  RefuseCandidates(
      absl::FailedPreconditionError(absl::StrCat("the job has failed: ", life_.reason())));
}

absl::Status Coordinator::Impl::RejoinTimeout(const ParkedCall& call) {
  if (life_.state() == JobState::kRunning) {
    return absl::DeadlineExceededError(
        absl::StrCat("waited ", HowLong(call.timeout), " for a place: epoch ", epoch()->id().number,
                     " runs with ", WorldSize(), " of ", Places(),
                     " members, and takes in newcomers when it re-forms"));
  }
  if (!awaited_words_) {
    const bool some = members_.tally().awaited > 0;
    awaited_words_ = some
                         ? absl::StrCat("; not yet rejoined: ",
                                        DescribeMembers(*epoch(), AwaitedRanks(*epoch()), job_.now))
                         : "";
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "waited ", HowLong(call.timeout), " for the next epoch: ", Decide().reason, *awaited_words_));
}

}  // namespace muster::core
