#include "tests/simulation/world/simulated_store_client.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::simulation {
namespace {

using internal::SteadyTime;
using internal::StoreCallId;

constexpr int kMostStoreTicks = 3;

}  // namespace

StoreClient::StoreClient(const Process* process, internal::StoreClientOptions options,
                         SimulationState* simulation, Wire* wire)
    : process_(*process), simulation_(simulation), wire_(wire), core_(std::move(options)) {}

SteadyTime StoreClient::Now() const {
  return SteadyTime(absl::ToChronoNanoseconds(simulation_->now()));
}

StoreCallId StoreClient::Begin(v1::StoreOperation operation, absl::Duration timeout, Done done) {
  const StoreCallId id = next_id_++;
  Open open{internal::DescribeStoreCall(operation), simulation_->now(), std::move(done)};
  simulation_->Trace("process ", process_.id(), " calls ", open.what, " (", id, "), time-out ",
                     absl::FormatDuration(timeout));
  operations_.emplace(id, std::move(open));
  Apply(core_.Begin(Now(), id, std::move(operation), internal::Deadline(Now(), timeout)));
  return id;
}

void StoreClient::Cancel(StoreCallId id) {
  if (alive() && !stopped_ && operations_.count(id) > 0) Apply(core_.Cancel(Now(), id));
}

void StoreClient::Stop() {
  if (std::exchange(stopped_, true) || !alive()) return;
  operations_.clear();
  Apply(core_.Stop(Now(), absl::CancelledError("the process ends")));
}

void StoreClient::OnMessage(uint64_t attempt, v1::StoreResponse message) {
  Apply(core_.OnMessage(Now(), attempt, std::move(message)));
}

void StoreClient::OnStreamEnd(uint64_t attempt, const absl::Status& status) {
  Apply(core_.OnStreamEnd(Now(), attempt, status));
}

void StoreClient::Apply(internal::StoreEffects effects) {
  for (const internal::StoreOutput& output : effects.outputs) {
    std::visit([this](const auto& what) { Do(what); }, output);
  }
  for (internal::StoreCompletion& completion : effects.completions) {
    if (alive() && !stopped_) Finish(std::move(completion));
  }
  Arm();
}

void StoreClient::Do(const internal::OpenStoreStream& open) {
  wire_->Open(process_.id(), open.attempt);
}
void StoreClient::Do(const internal::SendToStore& send) {
  wire_->Send(process_.id(), send.attempt, send.message);
}
void StoreClient::Do(const internal::LeaveStoreStream& leave) {
  wire_->Leave(process_.id(), leave.attempt);
}
void StoreClient::Do(const internal::CancelStoreStream& cancel) {
  wire_->Cancel(process_.id(), cancel.attempt);
}
void StoreClient::Do(const internal::WarnOfStore& warning) {
  simulation_->Trace("process ", process_.id(), ": ", warning.line);
}

void StoreClient::Finish(internal::StoreCompletion completion) {
  auto entry = operations_.extract(completion.id);
  if (entry.empty()) {
    return simulation_->Violation(
        "process ", process_.id(), ": operation ", completion.id,
        " of the store, which has ended, ends again: ", completion.answer.status().ToString());
  }
  simulation_->Trace("process ", process_.id(), ": ", entry.mapped().what, " (", completion.id,
                     ") ends: ", [&] {
                       return completion.answer.ok() ? completion.answer->ShortDebugString()
                                                     : completion.answer.status().ToString();
                     });
  entry.mapped().done(std::move(completion.answer));
}

std::string StoreClient::Waiting() const {
  return absl::StrJoin(operations_, "; ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second.what, " since ", absl::FormatDuration(entry.second.begun));
  });
}

void StoreClient::Arm() {
  const SteadyTime due = core_.NextDeadline();
  if (!alive() || due >= armed_) return;
  armed_ = due;
  simulation_->clock.At(absl::FromChrono(due.time_since_epoch()), [this, due] { Ring(due); });
}

void StoreClient::Ring(SteadyTime due) {
  if (!alive() || armed_ != due) return;
  if (process_.paused_until() > simulation_->now()) {
    return simulation_->clock.At(process_.paused_until(), [this, due] { Ring(due); });
  }
  armed_ = SteadyTime::max();
  for (int ticks = 0; core_.NextDeadline() <= Now() && ticks < kMostStoreTicks; ++ticks) {
    Apply(core_.Tick(Now()));
  }
  if (core_.NextDeadline() <= Now()) {
    simulation_->Violation("process ", process_.id(), ": ticks of its store do not do what is due");
  }
  Arm();
}

}  // namespace muster::simulation
