#include "tests/simulation/world/node_member.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace muster::simulation {
namespace {

using internal::FanInEnd;

thread_local NodeMember* at_work = nullptr;

}  // namespace

void SimulatedFutex::Step() {
  if (at_work->steps_left_ > 0 && --at_work->steps_left_ == 0) throw NodeMember::Died();
}

int64_t SimulatedFutex::Now() { return absl::ToInt64Nanoseconds(at_work->simulation_->now()); }

void SimulatedFutex::Wake(internal::SlotFutex* bell) { at_work->memories_->Wake(bell); }

NodeMember::NodeMember(Host* host, SimulationState* simulation, NodeMemories* memories, bool shares,
                       uint64_t seed)
    : host_(host),
      simulation_(simulation),
      memories_(memories),
      shares_(shares),
      random_(seed, "node member") {}

void NodeMember::Enter(const internal::EnterNode& enter) {
  places_.clear();
  retired_.clear();
  self_ = enter.self;
  memory_ = memories_->Get(enter.epoch.nonce, enter.node_id, enter.members);
  if (shares_) memory_->Map(enter.self);
}

NodeMember::PlacePtr NodeMember::Find(const internal::NodeGroup& group) {
  if (memory_ == nullptr || !memory_->Ready() || retired_.count(group.name) > 0) return nullptr;
  PlacePtr& place = places_[group.name];
  if (place == nullptr) {
    place = std::make_shared<Place>(memory_->FindGroup(group.name), group.members, self_);
  }
  return place;
}

void NodeMember::Arrive(const internal::StartFanIn& meet) {
  const uint64_t attempt = meet.contribution.attempt;
  const PlacePtr place = Find(*meet.group);
  bool begun = false;
  const bool lives = Touch([&] {
    const int64_t deadline = std::chrono::nanoseconds(meet.deadline.time_since_epoch()).count();
    begun =
        place != nullptr && place->attempt == 0 && place->round.Begin(meet.contribution, deadline);
  });
  if (!lives) return;
  if (!begun) {
    return Later(absl::ZeroDuration(), [this, attempt] {
      host_->OnFanInEnd(attempt, {FanInEnd::kCallAlone, /*unsent=*/true, false, {}});
    });
  }
  place->attempt = attempt;
  Later(ThreadDelay(), [this, place, attempt] { Advance(place, attempt); });
}

void NodeMember::Leave(uint64_t attempt) {
  for (const auto& [name, place] : places_) {
    if (place->attempt != attempt) continue;
    Touch([&, p = place.get()] { p->slots.Interrupt(); });
    return;
  }
}

void NodeMember::Pass(const internal::SkipFanIn& pass) {
  const PlacePtr place = Find(*pass.group);
  if (place == nullptr || place->attempt != 0) return;
  Touch([&] { place->slots.Skip(pass.sequence); });
}

void NodeMember::Retire(uint64_t group) {
  if (places_.erase(group) > 0) retired_.insert(group);
}

void NodeMember::DieAfter(int steps, std::function<void()> death) {
  steps_left_ = steps;
  death_ = std::move(death);
}

bool NodeMember::Touch(absl::FunctionRef<void()> what) {
  NodeMember* const before = std::exchange(at_work, this);
  bool lives = true;
  try {
    what();
  } catch (const Died&) {
    lives = false;
  }
  at_work = before;
  if (!lives) death_();
  return lives;
}

void NodeMember::Later(absl::Duration delay, std::function<void()> what) {
  simulation_->clock.After(delay, [this, what = std::move(what)] {
    if (!host_->alive()) return;
    if (host_->paused_until() > simulation_->now()) {
      return Later(host_->paused_until() - simulation_->now(), what);
    }
    what();
  });
}

void NodeMember::Advance(const PlacePtr& place, uint64_t attempt) {
  if (place->attempt != attempt) return;
  std::optional<FanInRound::Next> next;
  if (!Touch([&] { next = place->round.Advance(); })) return;
  if (const auto* wait = std::get_if<FanInRound::Wait>(&*next)) return Wait(place, *wait);
  if (const auto* send = std::get_if<FanInRound::Send>(&*next)) return Send(place, *send->parts);
  End(place, std::get<FanInEnd>(*next));
}

void NodeMember::Wait(const PlacePtr& place, const FanInRound::Wait& wait) {
  const auto go_on = [this, place, attempt = place->attempt, waits = ++place->waits] {
    if (place->waits == waits) Advance(place, attempt);
  };
  memories_->AwaitWake(place->bell, self_, [this, go_on] { Later(ThreadDelay(), go_on); });
  const absl::Duration left = absl::Nanoseconds(wait.until) - simulation_->now();
  Later(std::max(absl::ZeroDuration(), left), go_on);
}

void NodeMember::Send(const PlacePtr& place, const std::vector<internal::TakenPart>& parts) {
  if (const auto on_node = host_->CompleteOnNode(place->attempt, parts)) {
    simulation_->Trace("  a member completes it for ", parts.size(), " of its node");
    return Sent(place, *on_node);
  }
  simulation_->Trace("  a member sends for ", parts.size(), " of its node");
  host_->SendForNode(place->attempt, parts, [this, place](std::optional<internal::Delivery> sent) {
    Sent(place, std::move(sent));
  });
}

void NodeMember::Sent(const PlacePtr& place, std::optional<internal::Delivery> sent) {
  Later(ThreadDelay(), [this, place, sent = std::move(sent)] {
    std::optional<FanInEnd> end;
    if (Touch([&] { end = place->round.Sent(sent); })) End(place, *end);
  });
}

void NodeMember::End(const PlacePtr& place, const FanInEnd& end) {
  host_->OnFanInEnd(std::exchange(place->attempt, 0), end);
}

}  // namespace muster::simulation
