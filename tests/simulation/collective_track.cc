#include "tests/simulation/collective_track.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::simulation {

using internal::MemberCore;
using internal::SteadyTime;

CollectiveTrack::CollectiveTrack(Actor* actor, const Place& place, const EpochPlan* plan,
                                 const GroupPlan* group, std::function<void()> on_step,
                                 OnEnd on_end)
    : Track(actor, place, std::move(on_end)),
      plan_(plan),
      group_(group),
      on_step_(std::move(on_step)),
      index_(*IndexOf(*group, place.rank)),
      steps_(plan->early_leaver == place.rank
                 ? std::min(plan->early_leaver_steps, group->steps.size())
                 : group->steps.size()) {}

void CollectiveTrack::Start() {
  actor_->Later([this] { CallNext(); });
}

std::string CollectiveTrack::Name() const {
  return absl::StrCat("step ", next_, " of ",
                      group_->name.empty() ? "the world" : absl::StrCat("'", group_->name, "'"));
}

void CollectiveTrack::CallNext() {
  if (next_ == steps_) return End(absl::OkStatus());
  const absl::Duration timeout = actor_->DrawTimeout(tries_++);
  const internal::GroupId group{place_.epoch, group_->name,
                                group_->name.empty() ? std::vector<int>() : group_->ranks};
  const internal::CallId id = actor_->process->Call(
      Name(), timeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.Collective(now, call, group, Call(), internal::Deadline(now, timeout));
      },
      [this, timeout](absl::StatusOr<internal::Response> reply) {
        Done(timeout, std::move(reply));
      });
  actor_->MayCancel(id);
}

internal::CollectiveCall CollectiveTrack::Call() const {
  return IsOverlong() ? OverlongCallOf(*group_, next_, index_) : CallOf(*group_, next_, index_);
}

void CollectiveTrack::Done(absl::Duration timeout, absl::StatusOr<internal::Response> reply) {
  if (actor_->gone()) return;
  actor_->CheckError(Name(), reply.status());
  if (reply.ok()) {
    Completed(*std::move(reply));
  } else if (absl::IsInvalidArgument(reply.status()) && IsOverlong()) {
    corrected_ = true;
    tries_ = 0;
  } else if (absl::IsResourceExhausted(reply.status()) && group_->steps[next_].large) {
    actor_->checks->collectives.TooLarge(*actor_->process, *group_, next_++);
    tries_ = 0;
    corrected_ = false;
  } else if (absl::IsFailedPrecondition(reply.status())) {
    CheckRefusal(reply.status());
    return End(absl::OkStatus());
  } else if (EndsEpoch(reply.status())) {
    return End(reply.status());
  } else if (!MayRepeat(Name(), timeout, reply.status())) {
    Unexpected(Name(), reply.status());
    return End(reply.status());
  }
  actor_->Later([this] { CallNext(); });
}

void CollectiveTrack::Completed(internal::Response response) {
  actor_->checks->collectives.Completed(*actor_->process, *group_, next_, index_,
                                        internal::PayloadsOf(std::move(response)));
  if (group_->name.empty()) {
    actor_->checks->memberships.StopSeen(*actor_->process, place_.epoch.nonce, sequence_,
                                         actor_->process->member().StopRequested(place_.epoch));
  }
  ++next_;
  ++sequence_;
  tries_ = 0;
  corrected_ = false;
  on_step_();
}

// Returns whether the ranks disagree at the current step. After a restart of the daemon, the
// collective before the disagreement may also be refused, although others have completed it. A step
// that is too large takes no sequence number. So a late rank may find that its group has failed at
// the number that it uses now.
bool CollectiveTrack::MeetsDisagreement() const {
  if (!group_->dissent_at) return false;
  const auto begin = group_->steps.begin();
  const size_t until = std::max(next_, *group_->dissent_at);
  return std::count_if(begin + next_, begin + until,
                       [](const CollectiveStep& step) { return !step.large; }) <= 1;
}

// Checks that there is a reason for the refusal: the ranks disagree, or one of them has left.
void CollectiveTrack::CheckRefusal(const absl::Status& status) {
  const bool disagree = MeetsDisagreement();
  const bool left = plan_->early_leaver && IndexOf(*group_, *plan_->early_leaver);
  // Another daemon does not know of an earlier refusal, and the ranks that heard of it have left.
  const bool forgotten =
      group_->steps[next_].large && (actor_->setting->restarts || actor_->setting->split);
  if (!disagree && !left && !forgotten && !actor_->setting->hostile) Unexpected(Name(), status);
}

}  // namespace muster::simulation
