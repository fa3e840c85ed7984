#include "tests/simulation/world/simulated_daemon.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "common/rpc/overloaded.h"
#include "server/service/conversion/event_conversion.h"
#include "server/service/conversion/request_conversion.h"
#include "server/service/conversion/store_request_conversion.h"
#include "server/service/conversion/store_response_conversion.h"
#include "tests/simulation/world/stranger.h"

namespace muster::simulation {
namespace {

using core::WaiterId;

constexpr size_t kMostTextBytes = 8 * 1024;

// Returns the state of the job as its members see it.
std::string SnapshotOf(const core::JobStatus& status) {
  std::string picture =
      absl::StrCat("state ", static_cast<int>(status.state), ", stop ", status.stop_requested,
                   ", failures ", status.recent_failures.size(), "\n");
  for (const core::MemberStatus& member : status.members) {
    if (!member.rank) continue;
    absl::StrAppend(&picture, "rank ", *member.rank, ": pid ", member.member.pid, ", state ",
                    static_cast<int>(member.state), ", in '", member.waiting_in, "'\n");
  }
  for (const core::LeaseStatus& lease : status.leases) {
    absl::StrAppend(&picture, "lease '", lease.name, "' of ", lease.node_id, ": token ",
                    lease.token, ", completed ", lease.completed, "\n");
  }
  return picture;
}

}  // namespace

Daemon::Daemon(DaemonId id, core::Options options, absl::Time wall_clock,
               SimulationState* simulation, Sink* sink, StoreSink* store_sink)
    : id_(id),
      wall_clock_(wall_clock),
      simulation_(simulation),
      sink_(sink),
      store_sink_(store_sink),
      core_(tape_.Options(std::move(options), Now())) {}

core::Effects Daemon::Put(WaiterId id, const core::Input& input, const journal::KeptRequest* kept) {
  core::Effects effects = core_.Step(Now(), id, input);
  tape_.Add({id, input, kept}, Now(), effects);
  if (const std::string wrong = core_.FindWrongCounts(); !wrong.empty()) {
    simulation_->Violation("daemon ", id_, ": ", wrong);
  }
  return effects;
}

template <typename Request>
core::Effects Daemon::PutRequest(WaiterId id, const Request& request) {
  // Copies the request: the network keeps it, since it may deliver it twice.
  const auto converted = service::FromProto(Request(request));
  if (!converted.ok()) {
    core::Effects refused;
    if (Rpc<Request>::kStreams) refused.ends.push_back({id, converted.status()});
    if (!Rpc<Request>::kStreams) refused.replies.push_back({id, converted.status(), {}});
    return refused;
  }
  const journal::KeptRequest kept = journal::Tape::KeepCopy(request);
  return Put(id, *converted, &kept);
}

void Daemon::CheckReplay() {
  const std::string difference = tape_.Replay();
  if (!difference.empty()) {
    simulation_->Violation("what went into daemon ", id_, " does not replay: ", difference);
  }
}

void Daemon::Tick() { Apply(Put(0, core::DeadlineReached())); }

void Daemon::Attach(WaiterId stream, const v1::AttachRequest& request) {
  streams_.emplace(stream, false);
  came_.insert(request.member().incarnation());
  started_.erase(request.member().incarnation());
  Apply(PutRequest(stream, request));
}

void Daemon::Call(WaiterId waiter, const internal::Request& request) {
  std::visit(
      [&](const auto& r) {
        calls_.emplace(waiter, &ConvertAnswer<std::decay_t<decltype(r)>>);
        Apply(PutRequest(waiter, r));
      },
      request);
}

void Daemon::Cancel(WaiterId waiter) {
  if (calls_.erase(waiter) > 0) Apply(Put(waiter, core::CallCancelled()));
}

void Daemon::CloseStream(WaiterId stream) {
  if (streams_.erase(stream) > 0) Apply(Put(stream, core::StreamClosed()));
}

void Daemon::ReceiveStore(WaiterId stream, const v1::StoreRequest& request) {
  if (request.has_open()) store_streams_.insert(stream);
  if (store_streams_.count(stream) == 0) return;  // the daemon has ended it
  const auto converted = service::FromProto(v1::StoreRequest(request));
  if (!converted.ok()) {
    return simulation_->Violation(
        "daemon ", id_, " cannot read a request of its store: ", converted.status().ToString());
  }
  const journal::KeptRequest kept = journal::Tape::KeepCopy(request);
  Apply(Put(stream, *converted, &kept));
}

void Daemon::LeaveStore(WaiterId stream) {
  if (store_streams_.count(stream) > 0) Apply(Put(stream, core::StoreLeft()));
}

void Daemon::CloseStore(WaiterId stream) {
  if (store_streams_.erase(stream) > 0) Apply(Put(stream, core::StreamClosed()));
}

template <typename Request>
void Daemon::Report(const Request& request) {
  const WaiterId report = next_report_++;
  core::Effects effects = PutRequest(report, request);
  effects.replies.erase(
      std::remove_if(effects.replies.begin(), effects.replies.end(),
                     [report](const core::Reply& reply) { return reply.waiter == report; }),
      effects.replies.end());
  Apply(effects);
}

void Daemon::ReportExit(const v1::ReportExitRequest& report) {
  started_.erase(IncarnationOf(report.secret()));
  Report(report);
}

void Daemon::ReportProcessState(const v1::ReportProcessStateRequest& report) {
  // A process that has attached and was lost does not hold a place.
  const std::string process = IncarnationOf(report.secret());
  if (came_.count(process) == 0) started_.insert(process);
  Report(report);
}

bool Daemon::AllPlacesAreTaken() const {
  const core::JobStatus status = core_.GetStatus(Now());
  const auto is_known = [&status](const std::string& process) {
    return std::any_of(status.members.begin(), status.members.end(),
                       [&](const auto& member) { return member.member.incarnation == process; });
  };
  const size_t others = std::count_if(started_.begin(), started_.end(), std::not_fn(is_known));
  return status.world_size != 0 && status.members.size() + others >= status.world_size;
}

// While a place is free, a stranger may take it as any process may, so its report is not sent.
void Daemon::ReportAsStranger(const v1::ReportExitRequest& report) {
  if (!report.given_up().empty() && !AllPlacesAreTaken()) return;
  must_go_on_ = true;
  Report(report);
  must_go_on_ = false;
}

void Daemon::AttachStranger(const v1::AttachRequest& request) {
  const WaiterId stream = next_report_++;
  core::Effects effects = PutRequest(stream, request);
  const auto is_its = [stream](const auto& e) { return e.stream == stream; };
  effects.events.erase(std::remove_if(effects.events.begin(), effects.events.end(), is_its),
                       effects.events.end());
  const auto ended = std::find_if(effects.ends.begin(), effects.ends.end(), is_its);
  const bool refused = ended != effects.ends.end();
  if (refused) effects.ends.erase(ended);
  Apply(effects);
  if (!refused) Apply(Put(stream, core::StreamClosed()));
}

void Daemon::CallAsStranger(const internal::Request& request) {
  const WaiterId waiter = next_report_++;
  strangers_call_ = waiter;
  Call(waiter, request);
  strangers_call_ = 0;
  if (calls_.erase(waiter) > 0) {
    simulation_->Violation("daemon ", id_, " lets a stranger's call wait as if it were a member's");
  }
}

void Daemon::ReceiveFromStranger(uint64_t choice) {
  CheckIgnored([&](const core::JobStatus& status) {
    std::visit(Overloaded{[this](const v1::AttachRequest& r) { AttachStranger(r); },
                          [this](const v1::ReportExitRequest& r) { ReportAsStranger(r); },
                          [this](const v1::ReportProcessStateRequest& r) { Report(r); },
                          [this](const internal::Request& r) { CallAsStranger(r); }},
               DrawGuess(choice, core_.options().instance, status));
  });
}

// The processes that a forming daemon hears of first have the places, whether they exist or not. If
// these are the job's own, or the job has formed, a stranger's reports must have no effect.
void Daemon::ReceiveFromLyingLauncher(uint64_t choice) {
  CheckIgnored([&](const core::JobStatus& status) {
    const bool own_came_first = !was_lied_to_ && AllPlacesAreTaken();
    was_lied_to_ = true;
    must_go_on_ = status.epoch || own_came_first;
    for (const Guess& lie : DrawLies(choice)) {
      std::visit(Overloaded{[this](const v1::ReportExitRequest& r) { Report(r); },
                            [this](const v1::ReportProcessStateRequest& r) { Report(r); },
                            [](const auto&) {}},
                 lie);
    }
    must_go_on_ = false;
  });
}

void Daemon::CheckIgnored(absl::FunctionRef<void(const core::JobStatus&)> send) {
  Tick();  // does first what is due by now, which the message does not cause
  const core::JobStatus before = core_.GetStatus(Now());
  send(before);
  if (SnapshotOf(core_.GetStatus(Now())) == SnapshotOf(before)) return;
  simulation_->Violation("daemon ", id_, " lets a stranger change the job from\n",
                         SnapshotOf(before), "to\n", SnapshotOf(core_.GetStatus(Now())));
}

void Daemon::Apply(const core::Effects& effects) {
  for (const core::LogLine& line : effects.log) {
    simulation_->Trace("daemon ", id_, ": ", line.text);
    CheckText(line.text);
    CheckGivesUp(line.text);
  }
  for (const core::Reply& reply : effects.replies) Deliver(reply);
  for (const core::StreamEvent& event : effects.events) Deliver(event);
  for (const core::StoreMessage& message : effects.store) Deliver(message);
  for (const core::StreamEnd& end : effects.ends) Deliver(end);
  if (core_.options().min_world_size != 0) CheckReforming();
  Arm();
}

// Checks that the daemon gives the job up only if a stranger can make it do so. No launcher of the
// job gives a process up.
void Daemon::CheckGivesUp(absl::string_view line) {
  const bool will_fail = absl::StrContains(line, "the job fails in");
  const bool fails = absl::StrContains(line, "the job has failed: it cannot form");
  if (will_fail && must_go_on_) {
    simulation_->Violation("daemon ", id_, " gives the job up because a stranger says so");
  }
  if (fails && (!was_lied_to_ || core_.GetStatus(Now()).epoch)) {
    simulation_->Violation("daemon ", id_, " has given the job up: ", line);
  }
}

// Checks that a text has no control characters, since people read it on terminals and in logs.
void Daemon::CheckText(absl::string_view text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::none_of(text.begin(), text.end(), is_control) && text.size() <= kMostTextBytes) return;
  simulation_->Violation("daemon ", id_, " says what is unfit for people, ", text.size(),
                         " bytes: ", absl::CHexEscape(text.substr(0, 200)));
}

std::optional<std::pair<core::EpochId, size_t>> Daemon::CountGroups() const {
  const core::JobStatus status = core_.GetStatus(Now());
  if (!status.epoch) return std::nullopt;
  return std::pair(*status.epoch, core_.Measure(Now()).groups);
}

// Checks that a broken epoch is followed by another one, or by the end of the job, within the time
// that the core allows.
void Daemon::CheckReforming() {
  const core::JobStatus status = core_.GetStatus(Now());
  const bool reforming = status.state == core::JobState::kReforming;
  const bool same = reforming && reforming_ && *reforming_ == *status.epoch;
  if (!same) reforming_since_ = Now();
  reforming_ = reforming ? status.epoch : std::nullopt;
  const core::Time late = std::max(*reforming_since_, wall_clock_ + paused_until_) +
                          core_.options().rejoin_timeout + core_.options().settle;
  if (!reforming || Now() <= late) return;
  simulation_->Violation("daemon ", id_, " neither forms an epoch nor gives the job up since ",
                         absl::FormatDuration(Now() - *reforming_since_));
}

void Daemon::Deliver(const core::Reply& reply) {
  const auto call = calls_.extract(reply.waiter);
  if (call.empty()) {
    return simulation_->Violation("daemon ", id_, " answers call ", reply.waiter,
                                  ", which has ended: ", reply.status.ToString());
  }
  CheckText(reply.status.message());
  if (reply.waiter == strangers_call_) {
    if (reply.status.ok()) simulation_->Violation("daemon ", id_, " answers a stranger's call");
    return;
  }
  internal::Response response;
  if (reply.status.ok()) response = call.mapped()(reply.answer);
  sink_->Reply(reply.waiter, reply.status, std::move(response));
}

void Daemon::Deliver(const core::StreamEvent& event) {
  const auto stream = streams_.find(event.stream);
  if (stream == streams_.end()) {
    return simulation_->Violation("daemon ", id_, " sends an event on stream ", event.stream,
                                  ", which has ended");
  }
  // A claimant may be asked for the roster before Attach is answered.
  const bool asks = std::holds_alternative<core::NeedRoster>(*event.event);
  if ((std::holds_alternative<core::Attached>(*event.event) || asks) == stream->second) {
    simulation_->Violation("daemon ", id_,
                           ": the first event of a stream must be Attached, and no other");
  }
  stream->second = !asks;
  sink_->Event(event.stream, service::ToProto(*event.event, Now(), core_.options()));
}

void Daemon::Deliver(const core::StoreMessage& message) {
  if (store_streams_.count(message.stream) == 0) {
    return simulation_->Violation("daemon ", id_, " sends a message on stream ", message.stream,
                                  " of its store, which has ended");
  }
  const auto* const answer = std::get_if<core::StoreAnswer>(&message.message);
  if (answer != nullptr) CheckText(answer->error.message());
  std::optional<v1::StoreResponse> wire =
      service::WholeResponse(message.message, core_.options().store);
  if (!wire) return simulation_->Violation("daemon ", id_, " sends what no client can read");
  store_sink_->StoreMessage(message.stream, *std::move(wire));
}

void Daemon::Deliver(const core::StreamEnd& end) {
  if (store_streams_.erase(end.stream) > 0) return store_sink_->StoreEnd(end.stream, end.status);
  if (streams_.erase(end.stream) == 0) {
    return simulation_->Violation("daemon ", id_, " ends stream ", end.stream, " twice");
  }
  sink_->End(end.stream, end.status);
}

void Daemon::Arm() {
  const core::Time due = core_.NextDeadline();
  if (due >= armed_) return;
  armed_ = due;
  simulation_->clock.At(due - wall_clock_, [this, due] { Ring(due); });
}

void Daemon::Ring(core::Time due) {
  if (!alive_ || armed_ != due) return;
  if (paused_until_ > simulation_->now()) {
    return simulation_->clock.At(paused_until_, [this, due] { Ring(due); });
  }
  armed_ = absl::InfiniteFuture();
  if (core_.NextDeadline() <= Now()) {
    Tick();
    if (core_.NextDeadline() <= Now()) {
      simulation_->Violation("daemon ", id_, ": a tick leaves something due");
    }
  }
  Arm();
}

}  // namespace muster::simulation
