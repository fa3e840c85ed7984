#include "server/journal/narration/journal_narrator.h"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "server/core/api/describe.h"
#include "server/core/api/rpc_name.h"

namespace muster::journal {
namespace {

std::string DescribeLeaseCall(absl::string_view verb, const std::string& name,
                              core::LeaseScope scope) {
  return absl::StrCat(verb, "('", name, "'", scope == core::LeaseScope::kJob ? ", job" : "", ")");
}

}  // namespace

std::string ReplayedMember::ToString() const {
  return absl::StrCat(rank ? absl::StrCat("rank ", *rank) : "process", " (",
                      NodeNames().DescribeWithHost(identity.node_id, identity.hostname), ", pid ",
                      identity.pid, ")");
}

ReplayedMember* JournalNarrator::Find(const core::MemberIdentity& identity) {
  ReplayedMember*& known = by_incarnation_[identity.incarnation];
  if (known == nullptr) {
    members_.push_back(std::make_unique<ReplayedMember>());
    known = members_.back().get();
    known->number = static_cast<int>(members_.size()) - 1;
    known->identity = identity;
  }
  return known;
}

ReplayedMember* JournalNarrator::FindBySession(const core::SessionId& session) const {
  const auto found = sessions_.find(session.counter);
  return found == sessions_.end() ? nullptr : found->second;
}

// Ends the calls that were parked in the previous daemon, at the time of its last step, and forgets
// the rest of its state.
void JournalNarrator::Reset() {
  EndAllCalls(last_, absl::UnavailableError("the daemon has ended"));
  sessions_.clear();
  streams_.clear();
  next_.clear();
  epoch_ = {};
}

void JournalNarrator::OnStart(core::Time now, const core::Options& options) {
  Reset();
  listener_->OnDaemonStart(now, options);
}

void JournalNarrator::OnCheckpoint(core::Time now, const core::Options& options,
                                   const core::Checkpoint& checkpoint) {
  Reset();
  epoch_ = checkpoint.epoch;
  for (const core::Checkpoint::Group& group : checkpoint.groups) {
    next_[core::DescribeGroup(group.name)] = group.next_sequence;
  }
  uint32_t rank = 0;
  for (const core::Checkpoint::Member& member : checkpoint.members) {
    ReplayedMember* const process = Find(member.place.member);
    process->rank = rank++;
    sessions_[member.session] = process;
    streams_[member.stream] = process;
  }
  listener_->OnCheckpoint(now, options);
}

void JournalNarrator::OnEnd(core::Time now, const End& end) { listener_->OnEnd(now, end); }

void JournalNarrator::Finish(core::Time now) {
  EndAllCalls(now, absl::UnknownError("still waiting at the end of the journal"));
}

void JournalNarrator::OnStep(const ReplayedStep& step) {
  last_ = step.now;
  if (step.kind == INPUT_KIND_CANCEL) {
    EndCalls(step.now, step.waiter, absl::CancelledError("the caller gave up"));
  }
  if (step.kind == INPUT_KIND_STREAM_CLOSED) CloseStream(step.now, step.waiter);
  Begin(step);
  for (const core::StreamEvent& event : step.effects.events) OnEvent(step.now, event);
  for (const core::Reply& reply : step.effects.replies) OnReply(step.now, reply);
  ReportCompleted(step.now);
  for (const core::StreamEnd& end : step.effects.ends) CloseStream(step.now, end.stream);
  for (const core::LogLine& line : step.effects.log) listener_->OnLog(step.now, line);
}

template <typename LeaseRequest>
JournalNarrator::Operation JournalNarrator::DescribeLeaseOperation(absl::string_view verb,
                                                                   const LeaseRequest& request) {
  return {DescribeLeaseCall(verb, request.name, request.scope),
          DescribeLeaseCall(verb, core::MaskNumbers(request.name), request.scope)};
}

// Describes a collective. Calls that differ in size or type are not alike.
JournalNarrator::Operation JournalNarrator::DescribeCollective(
    const core::CollectiveRequest& request) {
  core::Operation alike = request;
  alike.label = core::MaskNumbers(alike.label);
  return {core::DescribeOperation(request), core::DescribeOperation(alike)};
}

void JournalNarrator::Begin(const ReplayedStep& step) {
  const auto begin = [&](const core::CallContext& call, const Operation& operation) {
    BeginCall(step, call.session, operation);
  };
  std::visit(Overloaded{
                 [&](const core::AttachRequest& r) { streams_[step.waiter] = Find(r.member); },
                 [&](const core::CollectiveRequest& r) {
                   BeginCall(step, r.call.session, DescribeCollective(r), &r);
                 },
                 [&](const core::NodeCollectiveRequest& r) {
                   const Operation operation = DescribeCollective(r.call);
                   for (const core::ArrivalPart& part : r.parts) {
                     BeginCall(step, part.session, operation, &r.call);
                   }
                 },
                 [&](const core::AcquireLeaseRequest& r) {
                   begin(r.call, DescribeLeaseOperation("AcquireLease", r));
                 },
                 [&](const core::CompleteLeaseRequest& r) {
                   begin(r.call, DescribeLeaseOperation("CompleteLease", r));
                 },
                 [&](const core::AbandonLeaseRequest& r) {
                   begin(r.call, DescribeLeaseOperation("AbandonLease", r));
                 },
                 // The SDK sends these three by itself: a program has called nothing.
                 [](const core::WithdrawRequest&) {},
                 [](const core::ReleaseRequest&) {},
                 [](const core::CommitReport&) {},
                 [&](const auto& input) {
                   using Request = std::decay_t<decltype(input)>;
                   if constexpr (core::MemberCalls::kHas<Request>) {
                     const std::string name(core::RpcNameOf<Request>());
                     begin(input.call, {name, name});
                   }
                 },
             },
             step.input);
}

void JournalNarrator::BeginCall(const ReplayedStep& step, const core::SessionId& session,
                                const Operation& operation,
                                const core::CollectiveRequest* collective) {
  const ReplayedMember* const process = FindBySession(session);
  if (process == nullptr) return;
  ReplayedCall call{process, step.kind, operation.text, operation.pattern,
                    "",      0,         step.now,       ++last_call_};
  if (collective != nullptr) {
    call.group = core::DescribeGroup(collective->group);
    call.sequence = collective->sequence;
  }
  listener_->OnCall(call);
  calls_[step.waiter].push_back(std::move(call));
}

void JournalNarrator::OnReply(core::Time now, const core::Reply& reply) {
  if (const auto* place = std::get_if<core::JoinAnswer>(&reply.answer)) AssignRanks(*place);
  const auto calls = calls_.find(reply.waiter);
  if (calls != calls_.end() && reply.status.ok() && !calls->second.front().group.empty()) {
    const ReplayedCall& first = calls->second.front();
    const auto* node = std::get_if<core::NodeAnswer>(&reply.answer);
    const size_t ranks = node == nullptr ? 1 : node->completed.size();
    const bool same = !completed_.empty() && completed_.back().first.group == first.group &&
                      completed_.back().first.sequence == first.sequence;
    same ? completed_.back().second += ranks : (completed_.emplace_back(first, ranks), 0);
  }
  EndCalls(now, reply.waiter, reply.status);
}

void JournalNarrator::AssignRanks(const core::JoinAnswer& place) {
  if (epoch_ == place.epoch) return;
  epoch_ = place.epoch;
  next_.clear();
  uint32_t rank = 0;
  for (const core::RosterEntry& entry : *place.roster) Find(entry.member)->rank = rank++;
}

// Tells the collectives that the step has completed. Repeated calls of completed collectives are
// answered too, but not told again.
void JournalNarrator::ReportCompleted(core::Time now) {
  for (const auto& [collective, ranks] : completed_) {
    uint64_t& next = next_[collective.group];
    if (collective.sequence < next || ranks == 0) continue;
    next = collective.sequence + 1;
    listener_->OnCompleted(now, collective, ranks);
  }
  completed_.clear();
}

void JournalNarrator::OnEvent(core::Time now, const core::StreamEvent& event) {
  const auto stream = streams_.find(event.stream);
  if (stream == streams_.end()) return;
  ReplayedMember* const process = stream->second;
  if (const auto* attached = std::get_if<core::Attached>(event.event.get())) {
    sessions_[attached->session.counter] = process;
    listener_->OnAttached(now, *process);
  }
  if (const auto* broken = std::get_if<core::EpochBroken>(event.event.get())) {
    listener_->OnEpochBroken(now, *process, *broken);
  }
}

void JournalNarrator::CloseStream(core::Time now, core::WaiterId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  const ReplayedMember* const process = found->second;
  streams_.erase(found);
  listener_->OnDetached(now, *process);
}

void JournalNarrator::EndCalls(core::Time now, core::WaiterId waiter, const absl::Status& status) {
  const auto calls = calls_.extract(waiter);
  if (calls.empty()) return;
  for (const ReplayedCall& call : calls.mapped()) listener_->OnCallEnd(now, call, status);
}

void JournalNarrator::EndAllCalls(core::Time now, const absl::Status& status) {
  while (!calls_.empty()) EndCalls(now, calls_.begin()->first, status);
}

}  // namespace muster::journal
