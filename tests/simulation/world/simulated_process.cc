#include "tests/simulation/world/simulated_process.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/protocol/messages/messages.h"

namespace muster::simulation {
namespace {

using internal::CallId;
using internal::Effects;
using internal::MemberCore;
using internal::SteadyTime;

// The most that the SDK adds to a call's time-out: twice its slack, and its longest pause between
// sends.
constexpr absl::Duration kLatest = absl::Seconds(11);
constexpr int kMostTicks = 3;

}  // namespace

Process::Process(ProcessId id, internal::MemberOptions options, const Environment& environment)
    : id_(id),
      identity_(options.identity),
      simulation_(environment.simulation),
      wire_(environment.wire),
      member_(std::move(options)),
      node_(this, simulation_, environment.memories, environment.shares_memory, environment.seed) {}

SteadyTime Process::Now() const {
  return SteadyTime(absl::ToChronoNanoseconds(simulation_->now()));
}

void Process::Start() { Apply(member_.Start(Now())); }

CallId Process::Call(std::string what, absl::Duration timeout, Begin begin, Done done) {
  const CallId id = next_call_++;
  simulation_->Trace("process ", id_, " calls ", what, ", time-out ",
                     absl::FormatDuration(timeout));
  const absl::Duration now = simulation_->now();
  calls_.emplace(id, Open{std::move(what), now, now + timeout + kLatest, std::move(done)});
  Apply(begin(member_, Now(), id));
  return id;
}

void Process::Run(Step step) {
  if (alive_) Apply(step(member_, Now()));
}

void Process::OnReply(uint64_t attempt, const absl::Status& status, internal::Response response) {
  Apply(member_.OnReply(Now(), attempt, status, std::move(response)));
}

void Process::OnStreamResponse(uint64_t attempt, const v1::AttachResponse& response) {
  Apply(member_.OnStreamResponse(Now(), attempt, response));
}

void Process::OnStreamEnd(uint64_t attempt, const absl::Status& status) {
  Apply(member_.OnStreamEnd(Now(), attempt, status));
}

void Process::Kill() {
  alive_ = false;
  calls_.clear();
}

void Process::Apply(Effects effects) {
  for (internal::Output& output : effects.outputs) {
    if (alive_) std::visit([this](auto& what) { Do(std::move(what)); }, output);
  }
  for (internal::Completion& completion : effects.completions) {
    if (alive_) Finish(std::move(completion));
  }
  Arm();
}

void Process::Do(internal::SendCall send) { wire_->Send(id_, std::move(send)); }
void Process::Do(internal::OpenStream open) { wire_->Open(id_, std::move(open)); }
void Process::Do(const internal::CancelSend& cancel) { wire_->Cancel(id_, cancel.attempt); }
void Process::Do(const internal::WriteLog& log) {
  simulation_->Trace("process ", id_, ": ", log.line);
}

void Process::OnFanInEnd(uint64_t attempt, const internal::FanInEnd& end) {
  Apply(member_.OnFanInEnd(Now(), attempt, end));
}

std::optional<internal::Delivery> Process::CompleteOnNode(
    uint64_t attempt, const std::vector<internal::TakenPart>& parts) {
  return member_.CompleteOnNode(attempt, parts);
}

void Process::SendForNode(uint64_t attempt, const std::vector<internal::TakenPart>& parts,
                          Sent sent) {
  const absl::Duration patience = absl::Nanoseconds(internal::FanInTimes().patience);
  const auto begin = [&](MemberCore& member, SteadyTime now, CallId id) {
    return member.SendForNode(now, id, attempt, parts, patience);
  };
  Call("a call for its node", patience, begin,
       [sent](const absl::StatusOr<internal::Response>& r) { sent(internal::DeliveryOf(r)); });
}

void Process::Finish(internal::Completion completion) {
  auto entry = calls_.extract(completion.call);
  if (entry.empty()) {
    return simulation_->Violation(
        "process ", id_, ": call ", completion.call,
        ", which has ended, ends again: ", completion.reply.status().ToString());
  }
  Open& call = entry.mapped();
  simulation_->Trace("process ", id_, ": ", call.what, " ends: ", completion.reply.status());
  CheckInTime(call);
  call.done(std::move(completion.reply));
}

// Checks that the call ends in time. A stopped process can only look at its clock when it
// continues.
void Process::CheckInTime(const Open& call) const {
  const absl::Duration due = std::max(call.must_end, paused_until_ + absl::Seconds(1));
  if (simulation_->now() <= due) return;
  simulation_->Violation("process ", id_, ": ", call.what, " began at ",
                         absl::FormatDuration(call.begun), " and ends only at ",
                         absl::FormatDuration(simulation_->now()));
}

std::string Process::Waiting() const {
  return absl::StrJoin(calls_, "; ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second.what, " since ", absl::FormatDuration(entry.second.begun));
  });
}

void Process::Arm() {
  const SteadyTime due = member_.NextDeadline();
  if (!alive_ || due >= armed_) return;
  armed_ = due;
  simulation_->clock.At(absl::FromChrono(due.time_since_epoch()), [this, due] { Ring(due); });
}

void Process::Ring(SteadyTime due) {
  if (!alive_ || armed_ != due) return;
  if (paused_until_ > simulation_->now()) {
    return simulation_->clock.At(paused_until_, [this, due] { Ring(due); });
  }
  armed_ = SteadyTime::max();
  // One tick may make another one due: a call that is sent after its time-out ends at once.
  for (int ticks = 0; member_.NextDeadline() <= Now() && ticks < kMostTicks; ++ticks) {
    Apply(member_.Tick(Now()));
  }
  if (member_.NextDeadline() <= Now()) {
    simulation_->Violation("process ", id_, ": ticks do not do what is due");
  }
  Arm();
}

}  // namespace muster::simulation
