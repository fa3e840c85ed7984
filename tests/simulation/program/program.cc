#include "tests/simulation/program/program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"
#include "tests/simulation/program/collective_task.h"
#include "tests/simulation/program/passing_group_task.h"

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

Program::Program(const ProgramState& program_state, std::function<void()> on_exit)
    : program_state_(program_state), on_exit_(std::move(on_exit)) {}

void Program::Start() {
  program_state_.process->Start();
  Join();
}

// Returns the options that a launcher gives the process at this place.
JobOptions Program::MakeOptions() const {
  JobOptions options;
  options.job = "simulated";
  options.world_size = static_cast<int>(program_state_.setting->size);
  const int place = static_cast<int>(program_state_.place);
  const int nodes = static_cast<int>(program_state_.setting->nodes);
  if (program_state_.setting->rank_requests == Setting::RankRequests::kRanks) options.rank = place;
  if (program_state_.setting->rank_requests == Setting::RankRequests::kLocalRanks) {
    options.local_rank = place / nodes;
    options.node_rank = place % nodes;
  }
  return options;
}

void Program::Join() {
  const JobOptions options = MakeOptions();
  started_ = program_state_.simulation->now();
  program_state_.process->Call(
      "Join", kJoinTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.Join(now, call, options, internal::Deadline(now, kJoinTimeout));
      },
      [this](absl::StatusOr<internal::Response> reply) { Joined(std::move(reply)); });
}

void Program::Joined(absl::StatusOr<internal::Response> reply) {
  if (program_state_.gone()) return;
  program_state_.CheckError("Join", reply.status());
  if (!reply.ok()) return program_state_.Later([this, status = reply.status()] { Exit(status); });
  const auto& response = std::get<v1::JoinResponse>(*reply);
  program_state_.checks->memberships.Entered(*program_state_.process, response);
  program_state_.checks->replacements.Entered(program_state_.process->id(), response);
  if (program_state_.setting->leftovers &&
      program_state_.simulation->now() - started_ > kLongestForming) {
    program_state_.simulation->Violation(
        "process ", program_state_.process->id(), " has a place only after ",
        absl::FormatDuration(program_state_.simulation->now() - started_));
  }
  place_ = PlaceOf(response);
  if (program_state_.open_store) {
    store_ = std::make_unique<StoreProgram>(&program_state_,
                                            program_state_.open_store(response.rank()), [this] {
                                              if (after_store_)
                                                std::exchange(after_store_, nullptr)();
                                            });
    store_->Start();
  }
  Enter();
}

void Program::Enter() {
  epoch_over_ = absl::OkStatus();
  rejoining_ = false;
  plan_ = DrawPlan(*program_state_.setting, place_->epoch.nonce, place_->world_size);
  tasks_.clear();
  const auto on_end = [this](const absl::Status& status) { TaskEnded(status); };
  for (const GroupPlan& group : plan_.groups) {
    if (!IndexOf(group, place_->rank)) continue;
    tasks_.push_back(std::make_unique<CollectiveTask>(
        &program_state_, *place_, &plan_, &group, [this] { WelcomeNewcomers(); }, on_end));
  }
  tasks_.push_back(
      std::make_unique<LeaseTask>(&program_state_, *place_, &plan_, &unpublished_, on_end));
  if (program_state_.setting->passing_groups) {
    tasks_.push_back(std::make_unique<PassingGroupTask>(&program_state_, *place_, on_end));
  }
  open_tasks_ = tasks_.size();
  for (const auto& task : tasks_) task->Start();
}

void Program::TaskEnded(const absl::Status& status) {
  epoch_over_.Update(status);
  if (--open_tasks_ == 0) MoveOn();
}

void Program::MoveOn() {
  if (std::exchange(moving_on_, true)) return;
  program_state_.Later([this] {
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
  if (epoch_over_.ok()) return AfterStore([this] { Leave(); });
  if (program_state_.setting->elastic && absl::IsAborted(epoch_over_)) return Rejoin();
  AfterStore([this] { Exit(epoch_over_); });
}

void Program::AfterStore(std::function<void()> next) {
  if (store_ == nullptr || store_->done()) return next();
  after_store_ = std::move(next);
}

void Program::RejoinUnasked() {
  if (program_state_.gone() || !place_ || rejoining_ || open_tasks_ == 0) return;
  if (rejoins_ < kMaxRejoins) Rejoin();
}

// Rejoins between two steps if newcomers wait for a place, so that they come in.
void Program::WelcomeNewcomers() {
  if (program_state_.process->member().NewcomersWaiting(place_->epoch) == 0) return;
  if (program_state_.random.Chance(0.2)) program_state_.Later([this] { RejoinUnasked(); });
}

void Program::Rejoin() {
  if (rejoins_++ == kMaxRejoins) return Exit(epoch_over_);
  rejoining_ = true;
  program_state_.checks->disturbed.insert(program_state_.process->id());
  program_state_.process->Call(
      "Rejoin", kJoinTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.Rejoin(now, call, place_->epoch, internal::Deadline(now, kJoinTimeout));
      },
      [this](absl::StatusOr<internal::Response> reply) { Rejoined(std::move(reply)); });
}

void Program::Rejoined(absl::StatusOr<internal::Response> reply) {
  if (program_state_.gone()) return;
  program_state_.CheckError("Rejoin", reply.status());
  if (!reply.ok()) return program_state_.Later([this, status = reply.status()] { Exit(status); });
  const auto& response = std::get<v1::JoinResponse>(*reply);
  program_state_.checks->memberships.Entered(*program_state_.process, response);
  program_state_.checks->replacements.Entered(program_state_.process->id(), response);
  next_place_ = PlaceOf(response);
  if (open_tasks_ == 0) MoveOn();
}

void Program::RequestStop() {
  if (program_state_.gone() || !place_) return;
  program_state_.process->Call(
      "RequestStop", kLongTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.RequestStop(now, call, place_->epoch, internal::Deadline(now, kLongTimeout));
      },
      [this](const absl::StatusOr<internal::Response>& reply) {
        if (!program_state_.gone()) program_state_.CheckError("RequestStop", reply.status());
      });
}

void Program::Leave() {
  // A hostile member can keep the others waiting. A member whose Leave has timed out counts as
  // lost, and others may hear of that before it does.
  if (program_state_.setting->hostile) {
    program_state_.After(kLongTimeout - absl::Minutes(1), [this] {
      program_state_.checks->disturbed.insert(program_state_.process->id());
    });
  }
  program_state_.process->Call(
      "Leave", kLongTimeout,
      [&](MemberCore& member, SteadyTime now, internal::CallId call) {
        return member.Leave(now, call, place_->epoch, internal::Deadline(now, kLongTimeout));
      },
      [this](const absl::StatusOr<internal::Response>& reply) { Left(reply.status()); });
}

void Program::Left(const absl::Status& status) {
  if (program_state_.gone()) return;
  program_state_.CheckError("Leave", status);
  if (absl::IsDeadlineExceeded(status) && !program_state_.setting->hostile) {
    program_state_.simulation->Violation("process ", program_state_.process->id(),
                                         ": Leave has waited in vain: ", status.ToString());
  }
  program_state_.After(absl::ZeroDuration(), [this, status] { Exit(status); });
}

void Program::Exit(const absl::Status& outcome) {
  program_state_.simulation->Trace("process ", program_state_.process->id(), " exits: ", outcome);
  outcome_ = outcome;
  if (place_) program_state_.NoteResult(place_->epoch.nonce, "end", outcome);
  program_state_.exited = true;
  program_state_.checks->disturbed.insert(program_state_.process->id());
  program_state_.checks->leases.Gone(*program_state_.process);
  if (store_ != nullptr) store_->Stop();
  program_state_.process->Run([](MemberCore& member, SteadyTime now) { return member.Stop(now); });
  program_state_.process->Kill();
  on_exit_();
}

}  // namespace muster::simulation
