// What the Attach stream brings, and what an Attach claims.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages.h"

namespace muster::internal {

Effects MemberCore::Start(SteadyTime now) {
  stream_.Open(now, std::nullopt);
  return Settle(now);
}

void MemberCore::Reattach(SteadyTime now) {
  std::optional<v1::Claim> claim;
  if (membership_.place() != nullptr) claim = NewClaim(now);
  stream_.Open(now, std::move(claim));
  releases_.NoteClaimed();
}

// A restarted coordinator asks who the members of the claimed epoch are. The new stream goes first:
// when this one ends without it, the next member is asked.
void MemberCore::AttachWithRoster(SteadyTime now, const v1::NeedRoster& need) {
  const bool is_asked = membership_.IsIn(EpochOf(need.epoch())) && !lifecycle_.is_over();
  if (!is_asked || stream_.answered()) return;
  v1::Claim claim = NewClaim(now);
  *claim.mutable_roster() = membership_.place()->roster();
  stream_.Replace(now, std::move(claim));
  releases_.NoteClaimed();
}

v1::Claim MemberCore::NewClaim(SteadyTime now) const {
  v1::Claim claim;
  membership_.AddTo(now, &claim);
  leases_.AddTo(&claim);
  lifecycle_.AddTo(&claim);
  return claim;
}

Effects MemberCore::OnStreamResponse(SteadyTime now, uint64_t attempt,
                                     const v1::AttachResponse& response) {
  if (!session_.IsLatest(attempt)) return {};
  if (response.has_need_roster()) {
    AttachWithRoster(now, response.need_roster());
  } else if (stream_.answered()) {
    TakeEvent(now, response);
  } else if (stream_.TakeFirstResponse(now, response)) {
    leases_.TakeStanding(response.attached());
  }
  return Settle(now);
}

Effects MemberCore::OnStreamEnd(SteadyTime now, uint64_t attempt, const absl::Status& status) {
  if (!stream_.TakeEnd(now, attempt, status)) return {};
  return Settle(now);
}

void MemberCore::TakeEvent(SteadyTime now, const v1::AttachResponse& response) {
  if (lifecycle_.has_left()) return;
  switch (response.event_case()) {
    case v1::AttachResponse::kEpochBroken:
      return TakeBreak(now, response.epoch_broken());
    case v1::AttachResponse::kNeedContribution:
      return collectives_.Contribute(now, response.need_contribution());
    case v1::AttachResponse::kGroupFinished:
      return collectives_.TakeFinish(response.group_finished());
    case v1::AttachResponse::kStillWaiting:
      return WarnOfWaiting(response.still_waiting().text());
    case v1::AttachResponse::kGroupsClosed:
      return releases_.TakeClosings(now, response.groups_closed());
    case v1::AttachResponse::kNewcomersWaiting:
      return TakeNewcomers(response.newcomers_waiting());
    default:  // a later protocol's
      return;
  }
}

void MemberCore::TakeBreak(SteadyTime now, const v1::EpochBroken& broken) {
  EpochEnd end{absl::AbortedError(broken.reason()), {}, now, broken.may_rejoin()};
  end.failures.assign(broken.failures().begin(), broken.failures().end());
  lifecycle_.BreakEpoch(EpochOf(broken.epoch()), std::move(end));
}

void MemberCore::TakeNewcomers(const v1::NewcomersWaiting& newcomers) {
  if (!membership_.IsIn(EpochOf(newcomers.epoch()))) return;
  membership_.set_newcomers(
      static_cast<int>(std::min(newcomers.waiting(), newcomers.free_places())));
  outbox_.AddNews();
}

// The text begins with the job, as every text of the coordinator does; so do this process's own.
void MemberCore::WarnOfWaiting(absl::string_view text) {
  absl::ConsumePrefix(&text, absl::StrCat("job '", options_.job_id, "': "));
  outbox_.Warn(absl::StrCat(lifecycle_.Describe(), ": ", text));
}

}  // namespace muster::internal
