#include "tests/simulation/program/collective_task.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::simulation {

using internal::MemberCore;
using internal::SteadyTime;

CollectiveTask::CollectiveTask(ProgramState* program_state, const Place& place,
                               const EpochPlan* plan, const GroupPlan* group,
                               std::function<void()> on_step, OnEnd on_end)
    : ProgramTask(program_state, place, std::move(on_end)),
      plan_(plan),
      group_(group),
      on_step_(std::move(on_step)),
      index_(*IndexOf(*group, place.rank)),
      steps_(plan->early_leaver == place.rank
                 ? std::min(plan->early_leaver_steps, group->steps.size())
                 : group->steps.size()) {}

void CollectiveTask::Start() {
  program_state_->Later([this] { CallNext(); });
}

std::string CollectiveTask::Name() const {
  return absl::StrCat("step ", next_, " of ",
                      group_->name.empty() ? "the world" : absl::StrCat("'", group_->name, "'"));
}

void CollectiveTask::CallNext() {
  if (next_ == steps_) return End(absl::OkStatus());
  const absl::Duration timeout = program_state_->DrawTimeout(tries_++);
  const internal::GroupId group{place_.epoch, group_->name,
                                group_->name.empty() ? std::vector<int>() : group_->ranks};
  const internal::CallId id = program_state_->process->Call(
      Name(), timeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.Collective(now, call, group, Call(), internal::Deadline(now, timeout));
      },
      [this, timeout](absl::StatusOr<internal::Response> reply) {
        Done(timeout, std::move(reply));
      });
  program_state_->MayCancel(id);
}

internal::CollectiveCall CollectiveTask::Call() const {
  return IsOverlong() ? OverlongCallOf(*group_, next_, index_) : CallOf(*group_, next_, index_);
}

void CollectiveTask::Done(absl::Duration timeout, absl::StatusOr<internal::Response> reply) {
  if (program_state_->gone()) return;
  program_state_->CheckError(Name(), reply.status());
  if (reply.ok()) {
    Completed(*std::move(reply));
  } else if (absl::IsInvalidArgument(reply.status()) && IsOverlong()) {
    NoteResult(reply.status());
    corrected_ = true;
    tries_ = 0;
  } else if (absl::IsResourceExhausted(reply.status()) && group_->steps[next_].large) {
    NoteResult(reply.status());
    program_state_->checks->collectives.TooLarge(*program_state_->process, *group_, next_++);
    tries_ = 0;
    corrected_ = false;
  } else if (absl::IsFailedPrecondition(reply.status())) {
    NoteResult(reply.status());
    CheckRefusal(reply.status());
    return End(absl::OkStatus());
  } else if (EndsEpoch(reply.status())) {
    return End(reply.status());
  } else if (!MayRepeat(Name(), timeout, reply.status())) {
    Unexpected(Name(), reply.status());
    return End(reply.status());
  }
  program_state_->Later([this] { CallNext(); });
}

void CollectiveTask::NoteResult(const absl::Status& status,
                                const std::vector<std::string>& payloads) {
  program_state_->NoteResult(place_.epoch.nonce, Name(), status, payloads);
}

void CollectiveTask::Completed(internal::Response response) {
  const std::vector<std::string> payloads = internal::PayloadsOf(std::move(response));
  NoteResult(absl::OkStatus(), payloads);
  program_state_->checks->collectives.Completed(*program_state_->process, *group_, next_, index_,
                                                payloads);
  if (group_->name.empty()) {
    program_state_->checks->memberships.StopSeen(
        *program_state_->process, place_.epoch.nonce, sequence_,
        program_state_->process->member().StopRequested(place_.epoch));
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
bool CollectiveTask::MeetsDisagreement() const {
  if (!group_->dissent_at) return false;
  const auto begin = group_->steps.begin();
  const size_t until = std::max(next_, *group_->dissent_at);
  return std::count_if(begin + next_, begin + until,
                       [](const CollectiveStep& step) { return !step.large; }) <= 1;
}

// Checks that there is a reason for the refusal: the ranks disagree, or one of them has left.
void CollectiveTask::CheckRefusal(const absl::Status& status) {
  const bool disagree = MeetsDisagreement();
  const bool left = plan_->early_leaver && IndexOf(*group_, *plan_->early_leaver);
  // Another daemon does not know of an earlier refusal, and the ranks that heard of it have left.
  const bool forgotten = group_->steps[next_].large &&
                         (program_state_->setting->restarts || program_state_->setting->split);
  if (!disagree && !left && !forgotten && !program_state_->setting->hostile)
    Unexpected(Name(), status);
}

}  // namespace muster::simulation
