// NodeCollective: the arrivals of several members of a node in one call. Each part is an arrival
// like any other. This file decides whether a batch of parts is taken, and how its call is
// answered. WithdrawArrival takes back an arrival that such a batch may have brought, or may still
// bring.

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/validation.h"
#include "server/core/collectives/collectives.h"

namespace muster::core {
namespace {

template <class... Text>
absl::Status NotTaken(const Text&... text) {
  return absl::FailedPreconditionError(absl::StrCat(text...));
}

}  // namespace

absl::Status Collectives::CheckTogether(const NodeCollectiveRequest& request) const {
  if (absl::Status s = CheckTexts(request.call); !s.ok()) return s;
  if (absl::Status s = CheckNodeParts(request.parts.size()); !s.ok()) return s;
  for (const ArrivalPart& part : request.parts) {
    if (absl::Status s = CheckPayloadSize(part.payload); !s.ok()) return s;
    if (part.call_site.empty()) continue;
    absl::Status s = CheckOptionalName("call site", part.call_site, kMaxCallSiteBytes);
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

// Takes the batch, or answers that no part has completed. In the second case no member's call
// fails: each member sends a call of its own, and gets its own errors.
absl::Status Collectives::Receive(WaiterId id, const NodeCollectiveRequest& request) {
  const absl::StatusOr<Member*> sender = calls_.Caller(request.call.call);
  if (!sender.ok()) return sender.status();
  if (absl::Status s = CheckTogether(request); !s.ok()) return s;
  const absl::Status taken = ServeTogether(id, *sender, request);
  if (taken.ok()) return taken;
  job_.Log(Severity::kDebug,
           absl::StrCat((*sender)->Describe(), " sends for ", request.parts.size(),
                        " members, each of which must call: ", taken.message()));
  calls_.Respond(id, NodeAnswer());
  return absl::OkStatus();
}

absl::Status Collectives::ServeTogether(WaiterId id, Member* sender,
                                        const NodeCollectiveRequest& request) {
  const CollectiveRequest& call = request.call;
  if (life_.recovering()) return NotTaken("the coordinator recovers");
  if (absl::Status s = life_.CheckEpoch(*sender, call.epoch); !s.ok()) return s;
  if (absl::Status s = CheckGroupAndRoot(*sender, call); !s.ok()) return s;
  const absl::StatusOr<CollectiveGroup*> group = groups_.Find(call.group, *sender->rank());
  if (!group.ok()) return group.status();
  // The node may have completed collectives since, which its parts prove (R18).
  const std::optional<uint32_t> index = (*group)->IndexOf(*sender->rank());
  const bool tells_more = call.sequence > (*group)->sequence() && (*group)->IsTrusted(*index);
  if (call.sequence != (*group)->sequence() && !tells_more) {
    return NotTaken("op ", call.sequence, " of ", (*group)->description(), ", which is at op ",
                    (*group)->sequence());
  }
  if (absl::Status s = CheckNobodyIsLeaving(**group, "it"); !s.ok()) return s;
  const absl::StatusOr<std::vector<MemberPart>> members = MatchParts(*sender, **group, request);
  if (!members.ok()) return members.status();
  if (tells_more) groups_.Apply(*group, (*group)->Observe(*index, call.sequence));
  sender->sends_for_node = true;
  ParkParts(id, *group, *members, request);
  return absl::OkStatus();
}

absl::StatusOr<Member*> Collectives::FindPart(const Member& sender, const ArrivalPart& part) const {
  Member* const member = members_.FindBySession(part.session.counter);
  if (member == nullptr || !(member->session() == part.session)) {
    return NotTaken("session ", part.session.counter, " is not a current one");
  }
  const char* const why = !member->attached() ? " is detached"
                          : member->gone()    ? " is gone"
                          : member->leaving() ? " has called Leave"
                          : !member->rank()   ? " has not joined"
                          : member->identity.node_id != sender.identity.node_id
                              ? " is on another node than the sender"
                              : nullptr;
  if (why != nullptr) return NotTaken(member->Describe(), why);
  if (absl::Status s = calls_.CanPark(*member); !s.ok()) return s;
  return member;
}

absl::StatusOr<std::vector<Collectives::MemberPart>> Collectives::MatchParts(
    const Member& sender, const CollectiveGroup& group,
    const NodeCollectiveRequest& request) const {
  if (calls_.parked().size() + request.parts.size() > job_.options.limits.max_waiters) {
    return NotTaken(
        "there is no room for that many waiting calls (musterd --max-waiters raises the limit)");
  }
  std::vector<MemberPart> members;
  members.reserve(request.parts.size());
  std::vector<bool> seen(group.ranks().size());
  bool has_sender = false;
  for (const ArrivalPart& part : request.parts) {
    const absl::StatusOr<Member*> member = FindPart(sender, part);
    if (!member.ok()) return member.status();
    const std::optional<uint32_t> index = group.IndexOf(*(*member)->rank());
    if (!index) return NotTaken((*member)->Describe(), " is not in ", group.description());
    if (seen[*index]) return NotTaken((*member)->Describe(), " is named twice");
    seen[*index] = true;
    if (group.IsStale(*index, part.attempt)) {
      return NotTaken((*member)->Describe(),
                      " may have sent it to an earlier group of the same ranks");
    }
    absl::Status s = CheckPayload(request.call, part.payload, *index, *(*member)->rank());
    if (!s.ok()) return s;
    has_sender |= *member == &sender;
    members.push_back({*member, *index});
  }
  if (!has_sender) return NotTaken("the sender is not among them");
  return members;
}

void Collectives::ParkParts(WaiterId id, CollectiveGroup* group,
                            const std::vector<MemberPart>& members,
                            const NodeCollectiveRequest& request) {
  const Calls::Description op = group->texts().Describe(request.call, group->description());
  calls_.ParkBatch(id, members.size());
  CollectiveRequest call = request.call;
  const auto park = [&](size_t i) {
    const ArrivalPart& part = request.parts[i];
    const auto& [member, index] = members[i];
    call.call.session = part.session;
    call.call.attempt = part.attempt;
    call.call.wait_timeout = part.wait_timeout ? part.wait_timeout : request.call.call.wait_timeout;
    call.call_site = part.call_site.empty() ? request.call.call_site : part.call_site;
    call.payload = part.payload;
    member->last_call = job_.now;
    member->last_collective = op;
    const WaiterId waiter = NodeBatches::PartId(id, i);
    calls_.Park(waiter, member, WaitForCollective{group, index, call.sequence}, call.call, op);
    Arrive(waiter, group, index, call);
    if (groups_.MayLackContributions(*group)) groups_.RequestContribution(*group, member);
  };
  // The member that arrives last at the node sends for all, so its part is the last to arrive here
  // too.
  size_t sent = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].member->session() == request.call.call.session) {
      sent = i;
    } else {
      park(i);
    }
  }
  park(sent);
}

void Collectives::EndPartsOf(const Member& member) {
  for (const WaiterId id : calls_.parked().CallsOf(member)) {
    if (!NodeBatches::IsPart(id)) continue;
    const WaitForCollective& wait = std::get<WaitForCollective>(calls_.parked().Find(id)->wait);
    wait.group->Withdraw(wait.index, id);
    calls_.Finish(id, absl::UnavailableError("its member is detached"));
  }
}

// ---- WithdrawArrival ----

absl::Status Collectives::CheckContent(const Member&, const WithdrawRequest& request) const {
  absl::Status s =
      CheckOptionalName("group name", request.group.name, job_.options.limits.max_name_bytes);
  return s.ok() ? CheckSequence(request.sequence) : s;
}

// Keeps the withdrawal in the group, and makes the group if no rank has called it yet.
absl::Status Collectives::Serve(WaiterId id, Member* member, const WithdrawRequest& request) {
  if (absl::Status s = life_.CheckEpoch(*member, request.epoch); !s.ok()) return s;
  const uint32_t rank = *member->rank();
  if (epoch()->groups().Find(request.group, rank) == nullptr) {
    // The send belongs to a group that is forgotten, so it cannot count any more.
    if (!groups_.CheckMayBeNew(*member, request.group, request.call.attempt).ok()) {
      calls_.Respond(id);
      return absl::OkStatus();
    }
    absl::Status s = CheckGroup(request.group, rank, epoch()->size(), job_.options.limits);
    if (!s.ok()) return s;
  }
  const absl::StatusOr<CollectiveGroup*> group = groups_.Find(request.group, rank);
  if (!group.ok()) return group.status();
  CollectiveGroup::Step step;
  const absl::Status s = (*group)->WithdrawBelow(*(*group)->IndexOf(rank), request.sequence,
                                                 request.call.attempt, &step);
  groups_.Apply(*group, std::move(step));
  if (s.ok()) calls_.Respond(id);
  return s;
}

}  // namespace muster::core
