#include "client/src/protocol/node_fan_in.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages/messages.h"
#include "client/src/protocol/node_completion.h"
#include "common/text/utf8.h"

namespace muster::internal {
namespace {

// The largest payload that fits into a slot beside the rest (SegmentOptions). Larger collectives
// gain nothing from fan-in.
constexpr size_t kMaxFanInPayloadBytes = 6 << 10;

// Returns the bytes that all parts of one batch must have in common, besides the group and the
// number.
std::string EncodeCall(const CollectiveCall& call, uint32_t refusals) {
  return absl::StrCat(static_cast<int>(call.kind), ",", call.root, ",", refusals, ",",
                      call.payload_size ? absl::StrCat(*call.payload_size) : "", ",",
                      call.type_name.size(), ",", call.type_name, call.label);
}

// Guesses whether the collective fits into slots: the other members probably bring as much as this
// one, and the answer is probably as large as the last one.
bool IsSmall(const MemberGroup& group, size_t size, const CollectiveCall& call,
             size_t max_answer_bytes) {
  const bool all_bring =
      call.kind == CollectiveKind::kGather || call.kind == CollectiveKind::kAllGather;
  return call.payload.size() <= kMaxFanInPayloadBytes &&
         call.payload.size() * (all_bring ? size : 1) <= max_answer_bytes &&
         group.arrivals.AnswerBytes(call.kind) <= max_answer_bytes;
}

// Returns whether the coordinator takes this text in a call and in a report.
bool IsTextOrEmpty(const std::string& text, const v1::Limits& limits) {
  return text.size() <= limits.max_name_bytes() && FindUnprintable(text) == absl::string_view::npos;
}

}  // namespace

NodeFanIn::NodeFanIn(const MemberOptions& options, const MemberEpochs& epochs,
                     const SessionState& session, const MemberLifecycle& lifecycle,
                     const AttachStream& stream, PendingCalls* calls, CommitReporter* commits,
                     MemberOutbox* outbox)
    : options_(options),
      epochs_(epochs),
      session_(session),
      lifecycle_(lifecycle),
      stream_(stream),
      calls_(*calls),
      commits_(*commits),
      outbox_(*outbox) {}

void NodeFanIn::Enter() {
  const std::vector<int>& ranks = epochs_.node_ranks();
  if (!is_on() || ranks.size() < 2) return;
  const v1::JoinResponse& place = *epochs_.place();
  const auto rank = static_cast<int>(place.rank());
  EnterNode enter;
  enter.job_id = options_.job_id;
  enter.epoch = EpochOf(place.epoch());
  enter.node_id = place.roster(rank).member().node_id();
  enter.members = static_cast<uint32_t>(ranks.size());
  enter.self = static_cast<uint32_t>(
      std::count_if(ranks.begin(), ranks.end(), [rank](int other) { return other < rank; }));
  enter.max_answer_bytes = static_cast<uint32_t>(MaxFanInAnswerBytes(ranks.size()));
  outbox_.Add(std::move(enter));
}

std::vector<int> NodeFanIn::RanksOf(const MemberGroup& group) const {
  if (!group.is_world()) return group.ranks;
  std::vector<int> ranks(epochs_.place()->roster_size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The coordinator must know that the program uses the group (R16). Otherwise it could forget a
// group that was released, or take a release of one rank for the end of the group, while members
// complete collectives in it.
bool NodeFanIn::MayCommit(const MemberGroup& group, size_t size) const {
  return stream_.node_commits() && group.at_node->members.size() == size &&
         group.arrivals.IsKnownIn(session_.session());
}

bool NodeFanIn::StartRound(SteadyTime now, CallId id, PendingCall* call) {
  if (!is_on() || lifecycle_.rejoining() || call->group->at_node == nullptr) return false;
  const MemberGroup& group = *call->group;
  const CollectiveSequence& sequence = group.sequence;
  const size_t size = group.is_world() ? epochs_.place()->roster_size() : group.ranks.size();
  const size_t max_answer_bytes = MaxFanInAnswerBytes(epochs_.node_ranks().size());
  if (!IsSmall(group, size, sequence.call(), max_answer_bytes)) {
    outbox_.Add(SkipFanIn{group.at_node, sequence.number()});
    return false;
  }
  const Stamp& stamp = *call->in_flight;
  call->may_commit = MayCommit(group, size);
  StartFanIn start;
  start.call = id;
  start.group = group.at_node;
  start.deadline = call->deadline.when();
  start.contribution.sequence = sequence.number();
  start.contribution.call = EncodeCall(sequence.call(), sequence.refusals());
  start.contribution.daemon_instance = stamp.session.daemon_instance;
  start.contribution.session_counter = stamp.session.counter;
  start.contribution.session_key = stamp.session.key;
  start.contribution.attempt = stamp.attempt;
  start.contribution.wait_nanos =
      absl::ToInt64Nanoseconds(std::max(absl::ZeroDuration(), Between(now, call->deadline.when())));
  start.contribution.may_commit = call->may_commit;
  start.contribution.stop_asked = group.is_world() && lifecycle_.stop_asked();
  start.contribution.posted_at = std::chrono::nanoseconds(now.time_since_epoch()).count();
  start.contribution.call_site = sequence.call().call_site;
  start.contribution.payload = sequence.call().payload;
  outbox_.Add(std::move(start));
  return true;
}

void NodeFanIn::TakeFanInEnd(SteadyTime now, uint64_t attempt, const FanInEnd& end) {
  const auto committing = committing_.extract(attempt);
  const PendingCall* const call = calls_.FindRound(attempt);
  if (call == nullptr) return;
  // A member that leaves its round drops the coordinator's answer (R9), but a commit has completed
  // its collective (R17).
  const bool counts = !call->leaves_round || end.on_node;
  if (end.unsent && counts) return calls_.SendAlone(now, attempt);
  std::optional<Response> answer;
  if (counts) answer = AnswerTo(*call, end);
  if (answer) {
    if (end.on_node && committing) commits_.Note(now, call->group, std::move(committing.mapped()));
    return calls_.Answer(now, attempt, *std::move(answer));
  }
  if (end.was_taken) call->group->arrivals.MayComeLate(call->in_flight->session);
  calls_.SendAnew(attempt);
}

std::optional<Response> NodeFanIn::AnswerTo(const PendingCall& call, const FanInEnd& end) const {
  if (end.kind != FanInEnd::kAnswered) return std::nullopt;
  const CollectiveCall& collective = call.group->sequence.call();
  // The root is an index into the group's ranks.
  const std::vector<int>& ranks = call.group->ranks;
  const int root = ranks.empty() ? collective.root : ranks[collective.root];
  const bool is_root = root == static_cast<int>(epochs_.place()->rank());
  return AnswerOf(collective.kind, is_root, end.answer);
}

std::optional<Delivery> NodeFanIn::Complete(uint64_t attempt, const std::vector<TakenPart>& parts) {
  const PendingCall* const arrival = calls_.FindInRound(attempt);
  if (arrival == nullptr || !arrival->may_commit) return std::nullopt;
  const auto is_out = [this](const TakenPart& part) {
    return part.contribution.may_commit == 0 ||
           part.contribution.payload.size() > stream_.limits().max_payload_bytes();
  };
  if (std::any_of(parts.begin(), parts.end(), is_out)) return std::nullopt;
  const bool stop_asked = std::any_of(parts.begin(), parts.end(), [](const TakenPart& part) {
    return part.contribution.stop_asked != 0;
  });
  const std::vector<int> ranks = RanksOf(*arrival->group);
  const CollectiveSequence& sequence = arrival->group->sequence;
  if (!IsTextOrEmpty(sequence.call().label, stream_.limits()) ||
      !IsTextOrEmpty(sequence.call().type_name, stream_.limits())) {
    return std::nullopt;
  }
  std::optional<Delivery> delivery =
      CompleteOnNode(ranks, epochs_.node_ranks(), sequence.call(), parts, stop_asked);
  if (delivery) {
    committing_[attempt] =
        MakeNodeCommit(sequence.number(), sequence.call(), ranks, epochs_.node_ranks(), parts);
  }
  return delivery;
}

absl::Status NodeFanIn::Send(SteadyTime now, CallId id, uint64_t attempt,
                             const std::vector<TakenPart>& parts, absl::Duration patience) {
  const PendingCall* const arrival = calls_.FindInRound(attempt);
  if (arrival == nullptr) return absl::CancelledError("the round was left");
  const MemberGroup& group = *arrival->group;
  const absl::Duration left =
      std::max(absl::ZeroDuration(), Between(now, arrival->deadline.when()));
  PendingCall call(absl::StrCat("sending ", arrival->what, " for the node"),
                   Deadline(now, std::min(patience, left)), now);
  call.epoch = arrival->epoch;
  call.only_in = session_.session();
  call.carries = attempt;
  const auto request = std::make_shared<Request>(MakeNodeCollective(
      *arrival->epoch, group.name, group.RanksToName(session_.session()), group.sequence.number(),
      group.sequence.refusals(), group.sequence.call(), parts));
  call.request = [request](SteadyTime) { return std::move(*request); };
  calls_.Begin(id, std::move(call));
  return absl::OkStatus();
}

void NodeFanIn::WithdrawArrival(SteadyTime now, const EpochId& epoch,
                                const std::shared_ptr<MemberGroup>& group) {
  GroupArrivals& arrivals = group->arrivals;
  const bool may_count =
      arrivals.MayComeLateIn(session_.session()) && lifecycle_.HealthOf(epoch).ok();
  if (!may_count || arrivals.withdrawal() != 0) return;
  PendingCall call =
      calls_.NewInBackground(now, absl::StrCat("taking back ", group->sequence.Describe()));
  call.epoch = epoch;
  call.before_leave = true;
  call.group = group;
  call.only_in = session_.session();
  call.request = [this, epoch, group, number = group->sequence.number()](SteadyTime) {
    return MakeWithdraw(epoch, group->name, group->RanksToName(session_.session()), number);
  };
  call.on_end = [](const PendingCall& ended, auto* reply) {
    ended.group->arrivals.EndWithdrawal();
    if (reply->ok()) ended.group->arrivals.Settle();
  };
  arrivals.BeginWithdrawal(calls_.BeginInBackground(std::move(call)));
}

}  // namespace muster::internal
