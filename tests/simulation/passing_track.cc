#include "tests/simulation/passing_track.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::simulation {

using internal::MemberCore;
using internal::SteadyTime;

PassingTrack::PassingTrack(Actor* actor, const Place& place, OnEnd on_end)
    : Track(actor, place, std::move(on_end)) {
  Random random(actor->setting->seed ^ place.epoch.nonce, "passing groups");
  for (size_t step = 0; step < kSteps; ++step) names_.push_back(random.Pick(3));
}

void PassingTrack::Start() {
  actor_->Later([this] { MoveOn(); });
}

// Returns the group of a step. Group 0 has all ranks, group 1 all but the last, group 2 ranks 1 and
// 0.
internal::GroupId PassingTrack::GroupOf(size_t step) const {
  const size_t name = names_[step];
  std::vector<int> ranks;
  const int size = name == 0 ? place_.world_size : name == 1 ? place_.world_size - 1 : 2;
  for (int rank = 0; rank < size; ++rank) {
    ranks.insert(name == 2 ? ranks.begin() : ranks.end(), rank);
  }
  return {place_.epoch, absl::StrCat("passing ", name), std::move(ranks)};
}

bool PassingTrack::TakesPart(size_t step) const {
  if (place_.world_size < 2) return false;
  for (const int rank : GroupOf(step).ranks) {
    if (rank == place_.rank) return true;
  }
  return false;
}

std::string PassingTrack::PayloadOf(size_t step, int rank) const {
  return absl::StrCat("step ", step, " of rank ", rank);
}

std::string PassingTrack::Name() const {
  return absl::StrCat("step ", next_, " of '", GroupOf(next_).name, "'");
}

void PassingTrack::DropSome(double chance) {
  for (const size_t name : std::set<size_t>(held_)) {
    if (!actor_->random.Chance(chance)) continue;
    held_.erase(name);
    size_t step = 0;
    while (names_[step] != name) ++step;
    actor_->stage->Say("process ", actor_->process->id(), " lets '", GroupOf(step).name, "' go");
    actor_->process->Run(
        [&](MemberCore& member, SteadyTime now) { return member.Drop(now, GroupOf(step)); });
  }
}

void PassingTrack::MoveOn() {
  while (next_ < kSteps && !TakesPart(next_)) ++next_;
  if (next_ < kSteps) return CallNext();
  DropSome(1);
  End(absl::OkStatus());
}

void PassingTrack::CallNext() {
  const internal::GroupId group = GroupOf(next_);
  const absl::Duration timeout = actor_->DrawTimeout(tries_++);
  internal::CollectiveCall call;
  call.kind = internal::CollectiveKind::kAllGather;
  call.payload = PayloadOf(next_, place_.rank);
  const bool is_new = held_.insert(names_[next_]).second;
  const internal::CallId id = actor_->process->Call(
      Name(), timeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId id) {
        if (is_new) member.Hold(group);
        return member.Collective(now, id, group, call, internal::Deadline(now, timeout));
      },
      [this, timeout](absl::StatusOr<internal::Response> reply) {
        Done(timeout, std::move(reply));
      });
  actor_->MayCancel(id);
}

void PassingTrack::Done(absl::Duration timeout, absl::StatusOr<internal::Response> reply) {
  if (actor_->gone()) return;
  actor_->CheckError(Name(), reply.status());
  if (reply.ok()) {
    std::vector<std::string> expected;
    for (const int rank : GroupOf(next_).ranks) expected.push_back(PayloadOf(next_, rank));
    const std::vector<std::string> answer = internal::PayloadsOf(*std::move(reply));
    if (answer != expected) {
      actor_->stage->Violation("process ", actor_->process->id(), ": ", Name(), " is answered [",
                               absl::StrJoin(answer, ", "), "]");
    }
    ++next_;
    tries_ = 0;
  } else if (EndsEpoch(reply.status())) {
    return End(reply.status());
  } else if (!MayRepeat(Name(), timeout, reply.status())) {
    Unexpected(Name(), reply.status());
    return End(reply.status());
  }
  actor_->Later([this] {
    DropSome(0.6);
    actor_->Later([this] { MoveOn(); });
  });
}

}  // namespace muster::simulation
