// Barrier, Broadcast, Gather and AllGather: what the epoch adds to its groups.

#include "server/core/collectives/collectives.h"

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/api/validation.h"
#include "server/core/job/member_state.h"

namespace muster::core {
namespace {

bool RootOnly(CollectiveKind kind) { return kind == CollectiveKind::kBroadcast; }

}  // namespace

absl::Status Collectives::CheckContent(const Member&, const CollectiveRequest& request) const {
  if (absl::Status s = CheckTexts(request); !s.ok()) return s;
  return CheckPayloadSize(request.payload);
}

absl::Status Collectives::CheckTexts(const CollectiveRequest& request) const {
  const uint32_t max = job_.options.limits.max_name_bytes;
  absl::Status s = CheckOptionalName("group name", request.group.name, max);
  if (!s.ok()) return s;
  if (s = CheckOptionalName("label", request.label, max); !s.ok()) return s;
  if (s = CheckOptionalName("type name", request.type_name, max); !s.ok()) return s;
  if (s = CheckOptionalName("call site", request.call_site, kMaxCallSiteBytes); !s.ok()) return s;
  return CheckSequence(request.sequence);
}

absl::Status Collectives::CheckPayloadSize(const Bytes& payload) const {
  const uint64_t limit = job_.options.limits.max_payload_bytes;
  if (payload->size() <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("payload has ", payload->size(), " bytes; the limit is ", limit,
                   " (musterd --max-payload-bytes raises it; tensors belong on a Communicator)"));
}

absl::Status Collectives::CheckRoot(const CollectiveRequest& request,
                                    const CollectiveGroup* known) const {
  size_t size = request.group.name.empty() ? epoch()->size() : request.group.ranks.size();
  if (known != nullptr) size = known->ranks().size();
  if (request.root < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("root ", request.root,
                                                 " is out of range: ", DescribeGroup(request.group),
                                                 " has ", size, " members"));
}

// Checks the request before its group is made, so that a refused call leaves no new group behind.
absl::Status Collectives::CheckGroupAndRoot(const Member& member,
                                            const CollectiveRequest& request) const {
  const CollectiveGroup* known = epoch()->groups().Find(request.group, *member.rank());
  absl::Status valid;
  if (known == nullptr) valid = groups_.CheckMayBeNew(member, request.group, request.call.attempt);
  if (known == nullptr && valid.ok()) {
    valid = CheckGroup(request.group, *member.rank(), epoch()->size(), job_.options.limits);
  }
  return valid.ok() ? CheckRoot(request, known) : valid;
}

absl::Status Collectives::CheckPayload(const CollectiveRequest& request, const Bytes& payload,
                                       uint32_t index, uint32_t rank) {
  const bool sends = !RootOnly(request.kind) || index == request.root;
  if (!sends) {
    if (payload->empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank,
                                                   " sends a payload to a Broadcast with root ",
                                                   request.root, "; only the root may send one"));
  }
  if (!request.payload_size || *request.payload_size == payload->size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " sends a payload of ",
                                                 payload->size(), " bytes, but declares ",
                                                 DescribeOperation(request)));
}

// Returns UNAVAILABLE for a group that is about to be forgotten, so that the client repeats the
// call. If the caller does not wait, it gets DEADLINE_EXCEEDED instead.
absl::StatusOr<CollectiveGroup*> Collectives::GroupOfCall(const Member& member,
                                                          const CollectiveRequest& request) {
  const absl::Status valid = CheckGroupAndRoot(member, request);
  absl::StatusOr<CollectiveGroup*> found = valid.ok() ? groups_.Find(request.group, *member.rank())
                                                      : absl::StatusOr<CollectiveGroup*>(valid);
  const bool has_waited = request.call.wait_timeout == absl::ZeroDuration();
  if (!absl::IsUnavailable(found.status()) || !has_waited) return found;
  return absl::DeadlineExceededError(found.status().message());
}

absl::Status Collectives::Serve(WaiterId id, Member* member, const CollectiveRequest& request) {
  if (absl::Status s = life_.CheckEpoch(*member, request.epoch); !s.ok()) return s;
  if (absl::Status s = calls_.CanPark(*member); !s.ok()) return s;
  absl::StatusOr<CollectiveGroup*> found = GroupOfCall(*member, request);
  if (!found.ok()) return found.status();
  CollectiveGroup* group = *found;
  const uint32_t index = *group->IndexOf(*member->rank());
  if (absl::Status s = CheckPayload(request, request.payload, index, *member->rank()); !s.ok()) {
    return s;
  }
  if (group->IsStale(index, request.call.attempt)) {
    return absl::UnavailableError(
        "this send may belong to an earlier group of the same ranks; repeat it");
  }
  const Calls::Description op = group->texts().Describe(request, group->description());
  if (request.sequence >= group->sequence()) {
    if (absl::Status s = CheckNotLeaving(*member); !s.ok()) return s;
    // A rank that has not heard of a refusal must still hear of it, even if others have called
    // Leave since.
    if (absl::Status s = CheckNobodyIsLeaving(*group, *op);
        !s.ok() && !group->current().HasRefused(request)) {
      return s;
    }
    member->last_collective = op;
  }
  const bool only_contributes = group->HasCompleted(index, request.sequence);
  calls_.Park(id, member, WaitForCollective{group, index, request.sequence}, request.call,
              only_contributes ? nullptr : op);
  Arrive(id, group, index, request);
  if (groups_.MayLackContributions(*group)) groups_.RequestContribution(*group, member);
  return absl::OkStatus();
}

void Collectives::Arrive(WaiterId id, CollectiveGroup* group, uint32_t index,
                         const CollectiveRequest& call) {
  Count(call.kind, &job_.tally.counters.arrivals);
  groups_.Apply(group, group->Arrive(job_.now, index, id, call));
}

absl::Status Collectives::DescribeTimeout(const ParkedCall& call,
                                          const WaitForCollective& wait) const {
  CollectiveGroup& group = *wait.group;
  const std::string& absence = group.texts().DescribeAbsence(job_.now, wait.sequence, [&] {
    return DescribeAbsentees(*epoch(), group.AbsentFrom(wait.sequence), group.ranks().size(),
                             job_.now);
  });
  return absl::DeadlineExceededError(absl::StrCat(group.OperationAt(wait.index, wait.sequence),
                                                  " waited ", DescribeDuration(call.timeout), "; ",
                                                  absence));
}

std::string DescribeAbsentees(const Epoch& epoch, const Absentees& absent, size_t of, Time now) {
  if (absent.missing.empty()) {
    return absl::StrCat("all ", of, " arrived, but some of them have stopped waiting: ",
                        DescribeMembers(epoch, absent.gave_up, now));
  }
  return absl::StrCat("missing ", absent.missing.size(), " of ", of, ": ",
                      DescribeMembers(epoch, absent.missing, now),
                      absent.gave_up.empty()
                          ? ""
                          : absl::StrCat("; arrived and stopped waiting: ", Ranks(absent.gave_up)));
}

}  // namespace muster::core
