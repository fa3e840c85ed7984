#include "tests/simulation/program/passing_group_task.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::simulation {

using internal::MemberCore;
using internal::SteadyTime;

namespace {

constexpr size_t kSteps = 12;
constexpr size_t kEndlessSteps = 40;
constexpr absl::Duration kPollInterval = absl::Milliseconds(100);

}  // namespace

PassingGroupTask::PassingGroupTask(ProgramState* program_state, const Place& place, OnEnd on_end)
    : ProgramTask(program_state, place, std::move(on_end)),
      endless_(program_state->setting->endless_groups) {
  Random random(program_state->setting->seed ^ place.epoch.nonce, "passing groups");
  const size_t steps = endless_ ? kEndlessSteps : kSteps;
  for (size_t step = 0; step < steps; ++step) kinds_.push_back(random.Pick(3));
}

void PassingGroupTask::Start() {
  program_state_->Later([this] { MoveOn(); });
}

size_t PassingGroupTask::NumberOf(size_t step) const { return endless_ ? step : kinds_[step]; }

// Returns the group of a step. Kind 0 has all ranks, kind 1 all but the last, kind 2 ranks 1 and 0.
internal::GroupId PassingGroupTask::GroupOf(size_t step) const {
  const size_t kind = kinds_[step];
  std::vector<int> ranks;
  const int size = kind == 0 ? place_.world_size : kind == 1 ? place_.world_size - 1 : 2;
  for (int rank = 0; rank < size; ++rank) {
    ranks.insert(kind == 2 ? ranks.begin() : ranks.end(), rank);
  }
  return {place_.epoch, absl::StrCat("passing ", NumberOf(step)), std::move(ranks)};
}

bool PassingGroupTask::TakesPart(size_t step) const {
  if (place_.world_size < 2) return false;
  for (const int rank : GroupOf(step).ranks) {
    if (rank == place_.rank) return true;
  }
  return false;
}

std::string PassingGroupTask::PayloadOf(size_t step, int rank) const {
  return absl::StrCat("step ", step, " of rank ", rank);
}

std::string PassingGroupTask::Name() const {
  return absl::StrCat("step ", next_, " of '", GroupOf(next_).name, "'");
}

void PassingGroupTask::DropSome(double chance) {
  for (const size_t number : std::set<size_t>(held_)) {
    if (!program_state_->random.Chance(chance)) continue;
    held_.erase(number);
    size_t step = 0;
    while (NumberOf(step) != number) ++step;
    program_state_->simulation->Trace("process ", program_state_->process->id(), " lets '",
                                      GroupOf(step).name, "' go");
    program_state_->process->Run(
        [&](MemberCore& member, SteadyTime now) { return member.Drop(now, GroupOf(step)); });
  }
}

void PassingGroupTask::MoveOn() {
  while (next_ < kinds_.size() && !TakesPart(next_)) ++next_;
  if (next_ < kinds_.size()) return CallNext();
  DropSome(1);
  endless_ ? AwaitForgotten() : End(absl::OkStatus());
}

bool PassingGroupTask::KnowsPassingGroup() const {
  const auto& groups = program_state_->process->member().epochs().groups();
  return std::any_of(groups.begin(), groups.end(),
                     [](const auto& entry) { return IsPassing(entry.first.first); });
}

// Ends the task when this process has forgotten all groups that it has released. If it keeps one,
// the job hangs.
void PassingGroupTask::AwaitForgotten() {
  const absl::Status health = program_state_->process->member().HealthOf(place_.epoch);
  if (!health.ok() || !KnowsPassingGroup()) return End(health);
  program_state_->After(kPollInterval, [this] { AwaitForgotten(); });
}

void PassingGroupTask::CallNext() {
  const internal::GroupId group = GroupOf(next_);
  const absl::Duration timeout = program_state_->DrawTimeout(tries_++);
  internal::CollectiveCall call;
  call.kind = internal::CollectiveKind::kAllGather;
  call.payload = PayloadOf(next_, place_.rank);
  const bool is_new = held_.insert(NumberOf(next_)).second;
  const internal::CallId id = program_state_->process->Call(
      Name(), timeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId id) {
        if (is_new) member.Hold(group);
        return member.Collective(now, id, group, call, internal::Deadline(now, timeout));
      },
      [this, timeout](absl::StatusOr<internal::Response> reply) {
        Done(timeout, std::move(reply));
      });
  program_state_->MayCancel(id);
}

void PassingGroupTask::Done(absl::Duration timeout, absl::StatusOr<internal::Response> reply) {
  if (program_state_->gone()) return;
  program_state_->CheckError(Name(), reply.status());
  if (reply.ok()) {
    std::vector<std::string> expected;
    for (const int rank : GroupOf(next_).ranks) expected.push_back(PayloadOf(next_, rank));
    const std::vector<std::string> answer = internal::PayloadsOf(*std::move(reply));
    if (answer != expected) {
      program_state_->simulation->Violation("process ", program_state_->process->id(), ": ", Name(),
                                            " is answered [", absl::StrJoin(answer, ", "), "]");
    }
    program_state_->NoteResult(place_.epoch.nonce, Name(), absl::OkStatus(), answer);
    ++next_;
    tries_ = 0;
  } else if (EndsEpoch(reply.status())) {
    return End(reply.status());
  } else if (!MayRepeat(Name(), timeout, reply.status())) {
    Unexpected(Name(), reply.status());
    return End(reply.status());
  }
  program_state_->Later([this] {
    DropSome(0.6);
    program_state_->Later([this] { MoveOn(); });
  });
}

}  // namespace muster::simulation
