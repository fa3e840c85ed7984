#include "tests/simulation/program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"
#include "tests/simulation/collective_track.h"
#include "tests/simulation/passing_track.h"

namespace muster::simulation {
namespace {

using internal::MemberCore;
using internal::SteadyTime;

// An epoch may never form because its members are gone. That is no hang.
constexpr absl::Duration kJoinTimeout = absl::Minutes(5);
constexpr int kMaxRejoins = 5;
// A new run can only be delayed by the earlier run, and not for long.
constexpr absl::Duration kLongestForming = absl::Seconds(20);

Place PlaceOf(const v1::JoinResponse& response) {
  return {internal::EpochOf(response.epoch()), static_cast<int>(response.rank()),
          response.roster_size()};
}

}  // namespace

Program::Program(const Actor& actor, std::function<void()> on_exit)
    : actor_(actor), on_exit_(std::move(on_exit)) {}

void Program::Start() {
  actor_.process->Start();
  Join();
}

// Returns the options that a launcher gives the process at this place.
JobOptions Program::Wish() const {
  JobOptions options;
  options.job = "simulated";
  options.world_size = static_cast<int>(actor_.setting->size);
  const int place = static_cast<int>(actor_.place);
  const int nodes = static_cast<int>(actor_.setting->nodes);
  if (actor_.setting->wishes == Setting::Wishes::kRanks) options.rank = place;
  if (actor_.setting->wishes == Setting::Wishes::kLocalRanks) {
    options.local_rank = place / nodes;
    options.node_rank = place % nodes;
  }
  return options;
}

void Program::Join() {
  const JobOptions options = Wish();
  started_ = actor_.stage->now();
  actor_.process->Call(
      "Join", kJoinTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.Join(now, call, options, internal::Deadline(now, kJoinTimeout));
      },
      [this](absl::StatusOr<internal::Response> reply) { Joined(std::move(reply)); });
}

void Program::Joined(absl::StatusOr<internal::Response> reply) {
  if (actor_.gone()) return;
  actor_.CheckError("Join", reply.status());
  if (!reply.ok()) return actor_.Later([this, status = reply.status()] { Exit(status); });
  const auto& response = std::get<v1::JoinResponse>(*reply);
  actor_.checks->memberships.Entered(*actor_.process, response);
  actor_.checks->replacements.Entered(actor_.process->id(), response);
  if (actor_.setting->leftovers && actor_.stage->now() - started_ > kLongestForming) {
    actor_.stage->Violation("process ", actor_.process->id(), " has a place only after ",
                            absl::FormatDuration(actor_.stage->now() - started_));
  }
  place_ = PlaceOf(response);
  Enter();
}

void Program::Enter() {
  epoch_over_ = absl::OkStatus();
  rejoining_ = false;
  plan_ = DrawPlan(*actor_.setting, place_->epoch.nonce, place_->world_size);
  tracks_.clear();
  const auto on_end = [this](const absl::Status& status) { TrackEnded(status); };
  for (const GroupPlan& group : plan_.groups) {
    if (!IndexOf(group, place_->rank)) continue;
    tracks_.push_back(std::make_unique<CollectiveTrack>(
        &actor_, *place_, &plan_, &group, [this] { WelcomeNewcomers(); }, on_end));
  }
  tracks_.push_back(std::make_unique<LeaseTrack>(&actor_, *place_, &plan_, &unpublished_, on_end));
  if (actor_.setting->passing_groups) {
    tracks_.push_back(std::make_unique<PassingTrack>(&actor_, *place_, on_end));
  }
  open_tracks_ = tracks_.size();
  for (const auto& track : tracks_) track->Start();
}

void Program::TrackEnded(const absl::Status& status) {
  epoch_over_.Update(status);
  if (--open_tracks_ == 0) MoveOn();
}

void Program::MoveOn() {
  if (std::exchange(moving_on_, true)) return;
  actor_.Later([this] {
    moving_on_ = false;
    EpochDone();
  });
}

void Program::EpochDone() {
  if (next_place_) {
    place_ = std::exchange(next_place_, std::nullopt);
    return Enter();
  }
  if (rejoining_) return;
  if (epoch_over_.ok()) return Leave();
  if (actor_.setting->elastic && absl::IsAborted(epoch_over_)) return Rejoin();
  Exit(epoch_over_);
}

void Program::RejoinUnasked() {
  if (actor_.gone() || !place_ || rejoining_ || open_tracks_ == 0) return;
  if (rejoins_ < kMaxRejoins) Rejoin();
}

// Rejoins between two steps if newcomers wait for a place, so that they come in.
void Program::WelcomeNewcomers() {
  if (actor_.process->member().NewcomersWaiting(place_->epoch) == 0) return;
  if (actor_.random.Chance(0.2)) actor_.Later([this] { RejoinUnasked(); });
}

void Program::Rejoin() {
  if (rejoins_++ == kMaxRejoins) return Exit(epoch_over_);
  rejoining_ = true;
  actor_.checks->disturbed.insert(actor_.process->id());
  actor_.process->Call(
      "Rejoin", kJoinTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.Rejoin(now, call, place_->epoch, internal::Deadline(now, kJoinTimeout));
      },
      [this](absl::StatusOr<internal::Response> reply) { Rejoined(std::move(reply)); });
}

void Program::Rejoined(absl::StatusOr<internal::Response> reply) {
  if (actor_.gone()) return;
  actor_.CheckError("Rejoin", reply.status());
  if (!reply.ok()) return actor_.Later([this, status = reply.status()] { Exit(status); });
  const auto& response = std::get<v1::JoinResponse>(*reply);
  actor_.checks->memberships.Entered(*actor_.process, response);
  actor_.checks->replacements.Entered(actor_.process->id(), response);
  next_place_ = PlaceOf(response);
  if (open_tracks_ == 0) MoveOn();
}

void Program::RequestStop() {
  if (actor_.gone() || !place_) return;
  actor_.process->Call(
      "RequestStop", kLongTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.RequestStop(now, call, place_->epoch, internal::Deadline(now, kLongTimeout));
      },
      [this](const absl::StatusOr<internal::Response>& reply) {
        if (!actor_.gone()) actor_.CheckError("RequestStop", reply.status());
      });
}

void Program::Leave() {
  // A hostile member can keep the others waiting. A member whose Leave has timed out counts as
  // lost, and others may hear of that before it does.
  if (actor_.setting->hostile) {
    actor_.After(kLongTimeout - absl::Minutes(1),
                 [this] { actor_.checks->disturbed.insert(actor_.process->id()); });
  }
  actor_.process->Call(
      "Leave", kLongTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.Leave(now, call, place_->epoch, internal::Deadline(now, kLongTimeout));
      },
      [this](const absl::StatusOr<internal::Response>& reply) { Left(reply.status()); });
}

void Program::Left(const absl::Status& status) {
  if (actor_.gone()) return;
  actor_.CheckError("Leave", status);
  if (absl::IsDeadlineExceeded(status) && !actor_.setting->hostile) {
    actor_.stage->Violation("process ", actor_.process->id(),
                            ": Leave has waited in vain: ", status.ToString());
  }
  actor_.After(absl::ZeroDuration(), [this, status] { Exit(status); });
}

void Program::Exit(const absl::Status& outcome) {
  actor_.stage->Say("process ", actor_.process->id(), " exits: ", outcome);
  outcome_ = outcome;
  actor_.exited = true;
  actor_.checks->disturbed.insert(actor_.process->id());
  actor_.checks->leases.Gone(*actor_.process);
  actor_.process->Run([](MemberCore& member, SteadyTime now) { return member.Stop(now); });
  actor_.process->Kill();
  on_exit_();
}

}  // namespace muster::simulation
