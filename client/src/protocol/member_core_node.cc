// Collectives by way of the node: arrivals that one member sends together with those of others.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/member_core.h"
#include "client/src/protocol/messages.h"

namespace muster::internal {
namespace {

// Slots have room for this much, and for what goes with it (SegmentOptions). Larger collectives
// gain nothing from meeting.
constexpr size_t kMostPayloadBytes = 6 << 10;
constexpr size_t kMostAnswerBytes = 60 << 10;

// What all parts of one call must have in common, beside the group and the number.
std::string WordsOf(const CollectiveCall& call, uint32_t refusals) {
  return absl::StrCat(static_cast<int>(call.kind), ",", call.root, ",", refusals, ",",
                      call.payload_size ? absl::StrCat(*call.payload_size) : "", ",",
                      call.type_name.size(), ",", call.type_name, call.label);
}

// Others bring as much as this member does, and get what they got the last time.
bool IsSmall(const Membership::Group& group, size_t size, const CollectiveCall& call) {
  const bool all_bring =
      call.kind == CollectiveKind::kGather || call.kind == CollectiveKind::kAllGather;
  return call.payload.size() <= kMostPayloadBytes &&
         call.payload.size() * (all_bring ? size : 1) <= kMostAnswerBytes &&
         group.answer_bytes[static_cast<size_t>(call.kind)] <= kMostAnswerBytes;
}

}  // namespace

void MemberCore::EnterNodeOfPlace() {
  const std::vector<int>& ranks = membership_.node_ranks();
  if (!options_.node_fanin || !node_collectives_ || ranks.size() < 2) return;
  const v1::JoinResponse& place = *membership_.place();
  const auto rank = static_cast<int>(place.rank());
  EnterNode enter;
  enter.job_id = options_.job_id;
  enter.epoch = EpochOf(place.epoch());
  enter.node_id = place.roster(rank).member().node_id();
  enter.members = static_cast<uint32_t>(ranks.size());
  enter.self = static_cast<uint32_t>(
      std::count_if(ranks.begin(), ranks.end(), [rank](int other) { return other < rank; }));
  effects_.outputs.push_back(std::move(enter));
}

Membership::Group* MemberCore::GroupOf(const PendingCall& call) {
  if (!call.collective) return nullptr;
  return membership_.FindGroup(call.collective->group);
}

bool MemberCore::Meet(SteadyTime now, CallId id, PendingCall* call) {
  if (!options_.node_fanin || !node_collectives_ || rejoining_) return false;
  const Membership::Group* const group = GroupOf(*call);
  if (group == nullptr || group->at_node == nullptr) return false;
  const CollectiveSequence& sequence = *group->sequence;
  const size_t size = group->ranks.empty() ? membership_.place()->roster_size()  // the world
                                           : group->ranks.size();
  if (!IsSmall(*group, size, sequence.call())) {
    effects_.outputs.push_back(PassNode{group->at_node, sequence.number()});
    return false;
  }
  const Stamp& stamp = *call->in_flight;
  MeetAtNode meet;
  meet.call = id;
  meet.group = group->at_node;
  meet.deadline = call->deadline.when();
  meet.contribution.sequence = sequence.number();
  meet.contribution.call = WordsOf(sequence.call(), sequence.refusals());
  meet.contribution.daemon_instance = stamp.session.daemon_instance;
  meet.contribution.session_counter = stamp.session.counter;
  meet.contribution.session_key = stamp.session.key;
  meet.contribution.attempt = stamp.attempt;
  meet.contribution.wait_nanos =
      absl::ToInt64Nanoseconds(std::max(absl::ZeroDuration(), Between(now, call->deadline.when())));
  meet.contribution.call_site = sequence.call().call_site;
  meet.contribution.payload = sequence.call().payload;
  effects_.outputs.push_back(std::move(meet));
  call->meeting = true;
  call->sent_at = now;
  return true;
}

Effects MemberCore::OnMet(SteadyTime now, uint64_t attempt, const MeetingEnd& end) {
  const auto call = FindSend(attempt);
  if (call != calls_.end() && call->second.meeting) {
    TakeMeeting(now, call->first, &call->second, end);
  }
  return Settle(now);
}

void MemberCore::TakeMeeting(SteadyTime now, CallId id, PendingCall* call, const MeetingEnd& end) {
  call->meeting = false;
  if (end.unsent) return SendInFlight(now, call);
  Membership::Group* const group = GroupOf(*call);
  if (end.kind == MeetingEnd::kAnswered && group != nullptr) {
    const CollectiveCall& collective = call->collective->sequence->call();
    // The root's index counts the ranks of the group.
    const std::vector<int>& ranks = group->ranks;
    const int root = ranks.empty() ? collective.root : ranks[collective.root];
    const bool is_root = root == static_cast<int>(membership_.place()->rank());
    if (std::optional<Response> answer = AnswerOf(collective.kind, is_root, end.answer)) {
      call->in_flight.reset();
      call->answered = true;
      return End(now, id, *std::move(answer));
    }
  }
  // Settle() sends it anew.
  if (end.was_taken && group != nullptr) group->unsettled_in = call->in_flight->session;
  call->in_flight.reset();
}

Effects MemberCore::SendForNode(SteadyTime now, CallId id, uint64_t attempt,
                                const std::vector<TakenPart>& parts, absl::Duration patience) {
  if (!IsMeeting(attempt)) return Refuse(id, absl::CancelledError("the meeting was left"));
  const PendingCall& arrival = FindSend(attempt)->second;
  const auto& [group, sequence] = *arrival.collective;
  const absl::Duration left = std::max(absl::ZeroDuration(), Between(now, arrival.deadline.when()));
  PendingCall call = NewCall(now, absl::StrCat("sending ", arrival.what, " for the node"),
                             Deadline(now, std::min(patience, left)));
  call.epoch = group.epoch;
  call.only_in = session_.session();
  call.carries = attempt;
  const auto request = std::make_shared<Request>(
      MakeNodeCollective(group.epoch, group.name, RanksToName(group), sequence->number(),
                         sequence->refusals(), sequence->call(), parts));
  call.request = [request](SteadyTime) { return std::move(*request); };
  return Begin(now, id, std::move(call));
}

bool MemberCore::IsMeeting(uint64_t attempt) const {
  return std::any_of(calls_.begin(), calls_.end(), [attempt](const auto& entry) {
    return entry.second.meeting && entry.second.in_flight->attempt == attempt;
  });
}

// Whether somebody has taken the arrival is found out later; it may have been.
void MemberCore::LeaveMeeting(PendingCall* call) {
  effects_.outputs.push_back(internal::LeaveMeeting{call->in_flight->attempt});
  if (Membership::Group* const group = GroupOf(*call)) {
    group->unsettled_in = call->in_flight->session;
  }
  call->meeting = false;
}

void MemberCore::LeaveMeetings() {
  for (auto& [id, call] : calls_) {
    if (call.meeting) Withdraw(&call);
  }
}

void MemberCore::TakeBack(SteadyTime now, const GroupId& group) {
  Membership::Group* const known = membership_.FindGroup(group);
  const bool may_count = known != nullptr && known->unsettled_in &&
                         known->unsettled_in == session_.session() && HealthOf(group.epoch).ok();
  if (!may_count || known->taking_back != 0 || stopping_) return;
  PendingCall call = NewCall(now, absl::StrCat("taking back ", known->sequence->Describe()),
                             Deadline(now, options_.coordinator_timeout));
  call.epoch = group.epoch;
  call.in_background = true;
  call.before_leave = true;
  call.of_group = group;
  call.only_in = session_.session();
  call.request = [this, group, number = known->sequence->number()](SteadyTime) {
    return MakeWithdraw(group.epoch, group.name, RanksToName(group), number);
  };
  call.on_end = [this, group](const PendingCall&, auto* reply) {
    Membership::Group* const ended = membership_.FindGroup(group);
    if (ended == nullptr) return;
    ended->taking_back = 0;
    if (reply->ok()) ended->unsettled_in.reset();
  };
  known->taking_back = next_background_;
  calls_.emplace(next_background_++, std::move(call));
}

// The program calls the same again: under a higher attempt than that call's, if it has been sent.
// Were it sent once more it would take back what comes now.
void MemberCore::DropTakingBack(Membership::Group* group) {
  const auto call = calls_.find(std::exchange(group->taking_back, 0));
  if (call == calls_.end()) return;
  Withdraw(&call->second);
  calls_.erase(call);
}

}  // namespace muster::internal
