// Elastic jobs: the way from a broken epoch into the next one.
//
// Every survivor calls Rejoin; one that is silent past the rejoin deadline is lost. Newcomers wait
// in Join, while an epoch runs too. formation.h says when the next epoch forms.

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {

// Members that an epoch of an elastic job has at most: as the flags say, else as many as a joiner
// has named or the epoch has.
uint32_t Coordinator::Impl::Places() const {
  const uint32_t flag =
      options_.max_world_size != 0 ? options_.max_world_size : options_.world_size;
  if (flag != 0) return flag;
  const uint32_t formed = epoch_ ? static_cast<uint32_t>(epoch_->members.size()) : 0;
  return std::max(agreed_size_, formed);
}

absl::Status Coordinator::Impl::CheckRejoin(const Member& member,
                                            const RejoinRequest& request) const {
  if (!elastic()) {
    return absl::FailedPreconditionError(
        "the job is not elastic: after a loss it has failed (musterd --min-world-size makes it "
        "elastic)");
  }
  if (!request.claim.epoch) {
    return absl::InvalidArgumentError("the claim names no epoch to leave");
  }
  if (!epoch_ || !member.rank) {
    return absl::FailedPreconditionError(
        absl::StrCat(member.who(), " has not joined the job; call Join"));
  }
  if (state_ == JobState::kFailed) {
    return absl::FailedPreconditionError(absl::StrCat("the job has failed: ", reason_));
  }
  if (state_ == JobState::kFinished || member.gone() || member.leaving) {
    return absl::FailedPreconditionError(absl::StrCat(member.who(), " has called Leave"));
  }
  if (request.claim.epoch->number > epoch_->id.number) {
    return absl::AbortedError(absl::StrCat("epoch ", request.claim.epoch->number,
                                           " is not one of this coordinator, which is in epoch ",
                                           epoch_->id.number));
  }
  return CanPark();
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const RejoinRequest& request) {
  if (absl::Status s = CheckRejoin(*member, request); !s.ok()) return s;
  leases_.Observe(request.claim.highest_token);
  highest_epoch_ = std::max(highest_epoch_, request.claim.highest_epoch);
  const bool earlier = !(*request.claim.epoch == epoch_->id);
  if (earlier && epoch_->broken.ok()) {  // the answer that told it of its place was lost
    Respond(id, JoinAnswer{epoch_->id, *member->rank, epoch_->roster});
    return absl::OkStatus();
  }
  if (request.call.attempt < member->join_attempt) {
    return absl::CancelledError("a later send of the same call has arrived");
  }
  if (member->join_waiter != 0) {
    Finish(member->join_waiter, absl::CancelledError("replaced by a later send of the same call"));
  }
  if (epoch_->broken.ok()) {
    BreakEpoch(absl::StrCat(member->who(), " asked for a new epoch; call Rejoin to be in it"));
  }
  Park(id, Waiter(member, Waiter::Call::kRejoin), request.call, "Rejoin");
  member->join_waiter = id;
  member->join_attempt = request.call.attempt;
  member->wish = PlaceWish();
  candidates_[member->arrival] = member;
  Log(Severity::kInfo, absl::StrCat(member->who(), " rejoins"));
  FormationChanged();
  TryForm();
  return absl::OkStatus();
}

bool Coordinator::Impl::Settled() const { return now_ - formation_changed_ >= options_.settle; }

// Somebody has come, gone or been lost: the settle time starts anew.
void Coordinator::Impl::FormationChanged() {
  if (!elastic() || recovering()) return;
  formation_changed_ = now_;
  forming_stall_.Restart(now_);
  if (Forming()) formation_timers_.Set(FormationTimer::kSettle, now_ + options_.settle);
  AnnounceNewcomers();
}

void Coordinator::Impl::StartReforming() {
  rejoin_deadline_ = now_ + options_.rejoin_timeout;
  formation_timers_.Set(FormationTimer::kRejoin, rejoin_deadline_);
  FormationChanged();
}

void Coordinator::Impl::ExpireFormation() {
  bool due = false;
  while (formation_timers_.Pop(now_)) due = true;
  if (!due || !Forming()) return;
  const bool too_late = state_ == JobState::kReforming && now_ >= rejoin_deadline_;
  if (too_late) LoseSilent();
  TryForm();
  if (too_late && state_ == JobState::kReforming && Settled()) FailReforming();
}

void Coordinator::Impl::LoseSilent() {
  std::vector<Loss> silent;
  for (Member* member : epoch_->members) {
    if (!member->may_come()) continue;
    silent.emplace_back(member, absl::StrCat("it did not call Rejoin within ",
                                             absl::FormatDuration(options_.rejoin_timeout)));
  }
  if (!silent.empty()) Lose(silent);
}

void Coordinator::Impl::FailReforming() {
  const FormationDecision decision = DecideOn(ChooseMembers());
  reason_ = absl::StrCat("no new epoch formed within ",
                         absl::FormatDuration(now_ - rejoin_deadline_ + options_.rejoin_timeout),
                         ": ", decision.reason, "; the last one ended because ", reason_);
  state_ = JobState::kFailed;
  Log(Severity::kError, absl::StrCat("the job has failed: ", reason_));
  RefuseCandidates(absl::StrCat("the job has failed: ", reason_));
}

// Tells the running members how many wait for a place, so that they may choose to re-form.
void Coordinator::Impl::AnnounceNewcomers() {
  if (state_ != JobState::kRunning) return;
  const NewcomersWaiting news{epoch_->id, static_cast<uint32_t>(candidates_.size()),
                              Places() - std::min(Places(), WorldSize())};
  const auto known = std::exchange(announced_, {news.epoch, news.waiting, news.free_places});
  if (known == announced_ || (news.waiting == 0 && !(known.epoch == news.epoch))) return;
  for (const Member* member : epoch_->members) Send(member, news);
}

absl::Status Coordinator::Impl::RejoinTimeout(const Waiter& waiter) const {
  if (state_ == JobState::kRunning) {
    return absl::DeadlineExceededError(
        absl::StrCat("waited ", HowLong(waiter.timeout), " for a place: epoch ", epoch_->id.number,
                     " runs with ", WorldSize(), " of ", Places(),
                     " members, and takes in newcomers when it re-forms"));
  }
  std::vector<uint32_t> awaited;
  for (const Member* member : epoch_->members) {
    if (member->may_come()) awaited.push_back(*member->rank);
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "waited ", HowLong(waiter.timeout), " for the next epoch: ", DecideOn(ChooseMembers()).reason,
      awaited.empty() ? "" : absl::StrCat("; not yet rejoined: ", DescribeMembers(awaited))));
}

}  // namespace muster::core
