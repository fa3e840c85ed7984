#include "tests/server/core/harness.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

// Checks that a step makes each text about a wait only once and shares it. The text names all ranks
// that are awaited, so a copy for each rank would be large.
void ExpectShared(const std::vector<StreamEvent>& events) {
  std::map<std::string, const Event*> by_text;
  for (const StreamEvent& sent : events) {
    const auto* waiting = std::get_if<StillWaiting>(sent.event.get());
    if (waiting == nullptr) continue;
    const Event* const first = by_text.emplace(waiting->text, sent.event.get()).first->second;
    EXPECT_EQ(first, sent.event.get()) << "made twice: " << waiting->text;
  }
}

}  // namespace

core::Options Harness::DefaultOptions(uint32_t world_size) {
  core::Options options;
  options.job_id = "train";
  options.world_size = world_size;
  options.daemon_version = "1.2.3";
  options.instance = 77;
  options.random = [n = uint64_t{0}]() mutable { return ++n * 0x9e3779b97f4a7c15; };
  return options;
}

core::Options Harness::ElasticOptions(uint32_t min_world_size, uint32_t world_size) {
  core::Options options = DefaultOptions(world_size);
  options.min_world_size = min_world_size;
  return options;
}

Harness::Harness(core::Options options)
    : now_(absl::FromUnixSeconds(1'700'000'000)),
      coordinator_(std::make_unique<Coordinator>(std::move(options))) {
  EXPECT_EQ(coordinator_->options().Validate(), absl::OkStatus());
}

void Harness::Restart(const std::function<void(core::Options*)>& change) {
  core::Options options = coordinator_->options();
  ++options.instance;
  if (change) change(&options);
  coordinator_ = std::make_unique<Coordinator>(std::move(options));
}

Claim Harness::ClaimOf(const Process& process, uint64_t next_of_world) const {
  Claim claim;
  claim.epoch = process.epoch;
  claim.rank = process.rank;
  claim.roster = process.roster;
  claim.groups.push_back({{}, next_of_world, ""});
  claim.highest_epoch = process.epoch.number;
  claim.history = process.history;
  return claim;
}

WaiterId Harness::Attach(Process& process, const Claim& claim) {
  const WaiterId stream = AttachWithoutRoster(process, claim);
  return Events<NeedRoster>(stream).empty() ? stream : AttachWithRoster(process, claim);
}

WaiterId Harness::AttachWithRoster(Process& process, const Claim& claim) {
  AttachRequest request = AttachOf(process);
  request.claim = std::make_shared<const Claim>(claim);
  return Attach(process, std::move(request));
}

WaiterId Harness::AttachWithoutRoster(Process& process, Claim claim) {
  claim.roster = nullptr;
  return AttachWithRoster(process, claim);
}

WaiterId Harness::Recover(Process& process, uint64_t next_of_world) {
  process.next[""] = next_of_world;
  return Attach(process, ClaimOf(process, next_of_world));
}

void Harness::Advance(absl::Duration duration) {
  const Time end = now_ + duration;
  while (coordinator_->NextDeadline() <= end) {
    now_ = std::max(now_, coordinator_->NextDeadline());
    Absorb(0, coordinator_->Step(now_, 0, DeadlineReached()));
  }
  now_ = end;
}

Process Harness::New(const std::string& node) {
  Process process;
  ++processes_;
  process.identity.incarnation =
      absl::StrCat("incarnation-", absl::Dec(processes_, absl::kZeroPad4));
  process.identity.start_time_micros = processes_;
  process.identity.node_id = node;
  process.identity.hostname = "host-" + node;
  process.identity.pid = 1000 + processes_;
  return process;
}

Process Harness::Attached(const std::string& node) {
  Process process = New(node);
  Attach(process);
  return process;
}

std::vector<Process> Harness::Formed(uint32_t size) {
  std::vector<Process> processes;
  std::vector<WaiterId> joins;
  for (uint32_t i = 0; i < size; ++i) processes.push_back(Attached());
  for (Process& process : processes) joins.push_back(Join(process));
  for (uint32_t i = 0; i < size; ++i) TakePlace(processes[i], joins[i]);
  return processes;
}

AttachRequest Harness::AttachOf(const Process& process) const {
  AttachRequest request;
  request.job_id = "train";
  request.member = process.identity;
  request.protocol_version = kProtocolVersion;
  request.sdk_version = "1.2.3";
  return request;
}

CallContext Harness::Context(const Process& process, std::optional<absl::Duration> timeout) {
  return {"train", process.session, ++attempts_, timeout, {}};
}

WaiterId Harness::Attach(Process& process) { return Attach(process, AttachOf(process)); }

WaiterId Harness::Attach(Process& process, AttachRequest request) {
  request.attempt = ++attempts_;
  process.stream = Attach(request);
  for (const StreamEvent& event : events_[process.stream]) {
    if (const auto* attached = std::get_if<core::Attached>(event.event.get())) {
      process.session = attached->session;
    }
  }
  return process.stream;
}

WaiterId Harness::Attach(const AttachRequest& request) {
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(now_, id, request));
}

void Harness::CloseStream(Process& process) {
  Absorb(0, coordinator_->Step(now_, process.stream, StreamClosed()));
}

WaiterId Harness::Join(Process& process, JoinRequest request, absl::Duration timeout) {
  request.call = Context(process, timeout);
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(now_, id, request));
}

WaiterId Harness::Rejoin(Process& process, absl::Duration timeout) {
  RejoinRequest request{Context(process, timeout), ClaimOf(process, process.next[""])};
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(now_, id, request));
}

void Harness::TakePlace(Process& process, WaiterId id) {
  const auto* answer = std::get_if<JoinAnswer>(&ReplyTo(id).answer);
  ASSERT_NE(answer, nullptr) << StatusOf(id);
  process.epoch = answer->epoch;
  process.rank = answer->rank;
  process.roster = answer->roster;
  process.history = answer->history;
  process.next.clear();
}

CollectiveRequest Harness::Request(Process& process, CollectiveKind kind,
                                   const std::string& payload, const std::string& group,
                                   std::vector<uint32_t> ranks) {
  CollectiveRequest request;
  request.call = Context(process, absl::Minutes(1));
  request.epoch = process.epoch;
  request.group = {group, std::move(ranks)};
  request.sequence = process.next[group]++;
  request.kind = kind;
  request.payload = std::make_shared<std::string>(payload);
  return request;
}

WaiterId Harness::Send(const CollectiveRequest& request) {
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(now_, id, request));
}

NodeCollectiveRequest Harness::Together(const std::vector<CollectiveRequest>& calls) {
  NodeCollectiveRequest request;
  request.call = calls.front();
  request.call.payload = std::make_shared<std::string>();
  for (const CollectiveRequest& call : calls) {
    request.parts.push_back({call.call.session, call.call.attempt, call.call.wait_timeout,
                             call.call_site, call.payload});
  }
  return request;
}

WaiterId Harness::Send(const NodeCollectiveRequest& request) {
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(now_, id, request));
}

std::vector<uint32_t> Harness::CompletedOf(WaiterId id) const {
  const auto* answer = std::get_if<NodeAnswer>(&ReplyTo(id).answer);
  EXPECT_NE(answer, nullptr) << StatusOf(id);
  return answer == nullptr ? std::vector<uint32_t>() : answer->completed;
}

WaiterId Harness::Withdraw(Process& process, uint64_t sequence, const GroupName& group) {
  const WaiterId id = NextId();
  return Absorb(
      id, coordinator_->Step(now_, id,
                             WithdrawRequest{Context(process), process.epoch, group, sequence}));
}

WaiterId Harness::SendAt(Process& process, uint64_t sequence, CollectiveKind kind,
                         const std::string& payload, uint32_t root) {
  process.next[""] = sequence;
  CollectiveRequest request = Request(process, kind, payload);
  request.root = root;
  return Send(request);
}

WaiterId Harness::Barrier(Process& process, const std::string& label, absl::Duration timeout) {
  CollectiveRequest request = Request(process, CollectiveKind::kBarrier);
  request.label = label;
  request.call.wait_timeout = timeout;
  return Send(request);
}

WaiterId Harness::Acquire(Process& process, const std::string& name, uint64_t request_id,
                          LeaseScope scope, absl::Duration timeout) {
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(now_, id,
                                       AcquireLeaseRequest{Context(process, timeout), process.epoch,
                                                           name, scope, request_id}));
}

WaiterId Harness::Complete(Process& process, const std::string& name, uint64_t token,
                           const std::string& value, LeaseScope scope) {
  const WaiterId id = NextId();
  const LeaseResult result{token, absl::OkStatus(), std::make_shared<std::string>(value)};
  return Absorb(id, coordinator_->Step(
                        now_, id, CompleteLeaseRequest{Context(process), name, scope, result}));
}

WaiterId Harness::Abandon(Process& process, const std::string& name, uint64_t request_id,
                          LeaseScope scope) {
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(
                        now_, id, AbandonLeaseRequest{Context(process), name, scope, request_id}));
}

WaiterId Harness::Leave(Process& process, absl::Duration timeout) {
  const WaiterId id = NextId();
  return Absorb(
      id, coordinator_->Step(now_, id, LeaveRequest{Context(process, timeout), process.epoch}));
}

WaiterId Harness::ReportExit(const Process& process, bool signaled, int code,
                             const std::string& given_up) {
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(now_, id,
                                       ExitReport{"train", process.identity.incarnation, signaled,
                                                  code, given_up}));
}

WaiterId Harness::ReportStarted(const Process& process) {
  const WaiterId id = NextId();
  return Absorb(id, coordinator_->Step(now_, id,
                                       ProcessStateReport{"train", process.identity.incarnation,
                                                          /*stopped=*/false}));
}

void Harness::Cancel(WaiterId id) {
  cancelled_.insert(id);
  Absorb(0, coordinator_->Step(now_, id, CallCancelled()));
}

WaiterId Harness::Absorb(WaiterId id, Effects effects) {
  EXPECT_EQ(coordinator_->FindWrongCounts(), "");
  for (Reply& reply : effects.replies) {
    EXPECT_LE(reply.waiter, ids_) << "a call that was never made is answered";
    EXPECT_EQ(cancelled_.count(reply.waiter), 0u) << "answered after it was cancelled";
    const bool first = replies_.emplace(reply.waiter, reply).second;
    EXPECT_TRUE(first) << "call " << reply.waiter << " is answered twice: " << reply.status;
  }
  ExpectShared(effects.events);
  for (StreamEvent& event : effects.events) {
    EXPECT_EQ(ends_.count(event.stream), 0u) << "an event after the end of its stream";
    events_[event.stream].push_back(event);
  }
  for (const StreamEnd& end : effects.ends) {
    EXPECT_TRUE(ends_.emplace(end.stream, end.status).second) << "a stream is ended twice";
  }
  log_.insert(log_.end(), effects.log.begin(), effects.log.end());
  if (effects.inquiry) inquiry_causes_.push_back(*effects.inquiry);
  if (effects.verdict) Absorb(0, coordinator_->Step(now_, 0, VerdictFound{*effects.verdict}));
  return id;
}

const Reply& Harness::ReplyTo(WaiterId id) const {
  static const Reply* const kParked = new Reply{0, absl::UnknownError("still parked"), {}};
  const auto it = replies_.find(id);
  return it == replies_.end() ? *kParked : it->second;
}

absl::Status Harness::StatusOf(WaiterId id) const { return ReplyTo(id).status; }

std::vector<std::string> Harness::PayloadsOf(WaiterId id) const {
  std::vector<std::string> payloads;
  const Answer& reply = ReplyTo(id).answer;
  const auto* node = std::get_if<NodeAnswer>(&reply);
  const auto* answer = node != nullptr ? &node->answer : std::get_if<CollectiveAnswer>(&reply);
  if (answer == nullptr || answer->payloads == nullptr) return {"no answer"};
  for (const Bytes& payload : *answer->payloads) payloads.push_back(*payload);
  return payloads;
}

uint64_t Harness::TokenOf(WaiterId id) const {
  const auto* answer = std::get_if<LeaseAnswer>(&ReplyTo(id).answer);
  const auto* grant = answer == nullptr ? nullptr : std::get_if<LeaseGrant>(answer);
  return grant == nullptr ? 0 : grant->token;
}

std::string Harness::LeaseResultOf(WaiterId id) const {
  const auto* answer = std::get_if<LeaseAnswer>(&ReplyTo(id).answer);
  const auto* result = answer == nullptr ? nullptr : std::get_if<LeaseResult>(answer);
  return result == nullptr ? "no result" : *result->value;
}

std::optional<absl::Status> Harness::EndOf(WaiterId stream) const {
  const auto it = ends_.find(stream);
  if (it == ends_.end()) return std::nullopt;
  return it->second;
}

}  // namespace muster::core
