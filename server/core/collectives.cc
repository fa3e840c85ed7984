// Barrier, Broadcast, Gather and AllGather: what the epoch adds to its groups.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/operation_words.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"
#include "server/core/validation.h"

namespace muster::core {
namespace {

bool RootOnly(CollectiveKind kind) { return kind == CollectiveKind::kBroadcast; }

}  // namespace

absl::Status Coordinator::Impl::CheckContent(const Member&,
                                             const CollectiveRequest& request) const {
  if (absl::Status s = CheckTexts(request); !s.ok()) return s;
  return CheckPayloadSize(request.payload);
}

absl::Status Coordinator::Impl::CheckTexts(const CollectiveRequest& request) const {
  const uint32_t max = job_.options.limits.max_name_bytes;
  absl::Status s = CheckOptionalName("group name", request.group.name, max);
  if (!s.ok()) return s;
  if (s = CheckOptionalName("label", request.label, max); !s.ok()) return s;
  if (s = CheckOptionalName("type name", request.type_name, max); !s.ok()) return s;
  if (s = CheckOptionalName("call site", request.call_site, kMaxCallSiteBytes); !s.ok()) return s;
  return CheckSequence(request.sequence);
}

absl::Status Coordinator::Impl::CheckPayloadSize(const Bytes& payload) const {
  const uint64_t limit = job_.options.limits.max_payload_bytes;
  if (payload->size() <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("payload has ", payload->size(), " bytes; the limit is ", limit,
                   " (musterd --max-payload-bytes raises it; tensors belong on a Communicator)"));
}

absl::Status Coordinator::Impl::CheckRoot(const CollectiveRequest& request,
                                          const CollectiveGroup* known) const {
  size_t size = request.group.name.empty() ? WorldSize() : request.group.ranks.size();
  if (known != nullptr) size = known->ranks().size();
  if (request.root < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("root ", request.root,
                                                 " is out of range: ", DescribeGroup(request.group),
                                                 " has ", size, " members"));
}

// Nothing is left behind of a call that is refused here: the group may be new.
absl::Status Coordinator::Impl::CheckGroupAndRoot(const Member& member,
                                                  const CollectiveRequest& request) const {
  const CollectiveGroup* known = epoch()->groups().Find(request.group, *member.rank());
  absl::Status valid;
  if (known == nullptr) valid = CheckMayBeNew(member, request.group, request.call.attempt);
  if (known == nullptr && valid.ok()) {
    valid = CheckGroup(request.group, *member.rank(), WorldSize(), job_.options.limits);
  }
  return valid.ok() ? CheckRoot(request, known) : valid;
}

// What a rank sends must be what its call says that everybody sends.
absl::Status Coordinator::Impl::CheckPayload(const CollectiveRequest& request, const Bytes& payload,
                                             uint32_t index, uint32_t rank) const {
  const bool sends = !RootOnly(request.kind) || index == request.root;
  if (!sends) {
    if (payload->empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank,
                                                   " sends a payload to a Broadcast with root ",
                                                   request.root, "; only the root does"));
  }
  if (!request.payload_size || *request.payload_size == payload->size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " sends a payload of ",
                                                 payload->size(), " bytes to ",
                                                 DescribeOperation(request)));
}

absl::StatusOr<CollectiveGroup*> Coordinator::Impl::FindGroup(const GroupName& name,
                                                              uint32_t caller_rank) {
  if (CollectiveGroup* known = epoch()->groups().Find(name, caller_rank); known != nullptr) {
    return known;
  }
  absl::StatusOr<CollectiveGroup*> added = epoch()->AddGroup(name);
  if (!added.ok()) return added;
  // What was claimed is of this group, whatever its ranks have forgotten since: claims of a group
  // that is closed go with it.
  ApplyClaimsTo(*added);
  for (uint32_t index = 0; index < name.ranks.size(); ++index) {
    (*added)->SetFirstAttempt(index, epoch()->members()[name.ranks[index]]->forgets_below);
  }
  if (members_.tally().leaving == 0) return added;
  for (uint32_t rank : (*added)->ranks()) {
    if (epoch()->members()[rank]->leaving()) (*added)->NoteLeaver(rank);
  }
  return added;
}

absl::Status Coordinator::Impl::CheckNobodyIsLeaving(const CollectiveGroup& group,
                                                     const std::string& op) const {
  if (group.leavers().empty()) return absl::OkStatus();  // every arrival asks
  const std::vector<uint32_t> leaving(group.leavers().begin(), group.leavers().end());
  return absl::FailedPreconditionError(absl::StrCat(
      op, " cannot complete: ", Ranks(leaving), " of ", ProgramsGroup(group.description()),
      leaving.size() == 1 ? " has" : " have", " called Leave"));
}

// A group that is about to be forgotten is worth a repetition, as long as the caller waits.
absl::StatusOr<CollectiveGroup*> Coordinator::Impl::GroupOfCall(const Member& member,
                                                                const CollectiveRequest& request) {
  const absl::Status valid = CheckGroupAndRoot(member, request);
  absl::StatusOr<CollectiveGroup*> found = valid.ok() ? FindGroup(request.group, *member.rank())
                                                      : absl::StatusOr<CollectiveGroup*>(valid);
  const bool has_waited = request.call.wait_timeout == absl::ZeroDuration();
  if (!absl::IsUnavailable(found.status()) || !has_waited) return found;
  return absl::DeadlineExceededError(found.status().message());
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member,
                                      const CollectiveRequest& request) {
  if (absl::Status s = life_.CheckEpoch(*member, request.epoch); !s.ok()) return s;
  if (absl::Status s = calls_.CanPark(*member); !s.ok()) return s;
  absl::StatusOr<CollectiveGroup*> found = GroupOfCall(*member, request);
  if (!found.ok()) return found.status();
  CollectiveGroup* group = *found;
  const uint32_t index = *group->IndexOf(*member->rank());
  if (absl::Status s = CheckPayload(request, request.payload, index, *member->rank()); !s.ok())
    return s;
  if (group->IsStale(index, request.call.attempt)) {
    return absl::UnavailableError("this send may be one of an earlier group of the same ranks");
  }
  const Calls::Words op = group->Describe(request);
  if (request.sequence >= group->sequence()) {
    if (absl::Status s = CheckStays(*member); !s.ok()) return s;
    // Whoever is late for a refusal hears of that, though the others have left since.
    if (absl::Status s = CheckNobodyIsLeaving(*group, *op);
        !s.ok() && !group->HasRefused(request)) {
      return s;
    }
    member->last_collective = op;
  }
  const bool only_contributes = group->HasCompleted(index, request.sequence);
  calls_.Park(id, member, ForCollective{group, index, request.sequence}, request.call,
              only_contributes ? nullptr : op);
  Arrive(id, group, index, request);
  if (epoch()->recovered()) RequestContribution(*group, member);
  return absl::OkStatus();
}

void Coordinator::Impl::Arrive(WaiterId id, CollectiveGroup* group, uint32_t index,
                               const CollectiveRequest& call) {
  Count(call.kind, &job_.tally.counters.arrivals);
  Apply(group, group->Arrive(job_.now, index, id, call));
}

void Coordinator::Impl::Apply(CollectiveGroup* group, CollectiveGroup::Step step) {
  for (CollectiveGroup::Finished& done : step) {
    calls_.Finish(done.waiter, done.status, std::move(done.answer));
  }
  if (group->TakeFinishedNews()) AnnounceFinished(*group);
  if (const std::string refused = group->TakeRefusalNews(); !refused.empty()) {
    job_.Log(Severity::kWarning, refused);
  }
  if (group->TakeContributorNews() && epoch()->recovered()) RequestContributions(group);
}

void Coordinator::Impl::AnnounceFinished(const CollectiveGroup& group) {
  job_.Log(Severity::kError, group.finished_text());
  const SharedEvent event =
      job_.out.Share(GroupFinished{epoch()->id(), group.name(), group.finished_text()});
  for (uint32_t rank : group.ranks()) job_.Send(*epoch()->members()[rank], event);
}

// The leaver will not come: whoever waits for it must not wait any longer.
void Coordinator::Impl::FailCollectivesOf(Member* leaver) {
  for (const auto& [name, group] : epoch()->groups()) {
    if (!group->IndexOf(*leaver->rank())) continue;
    group->NoteLeaver(*leaver->rank());
    if (!group->pending()) continue;
    const std::string op =
        DescribeStep(group->PendingOperation(), group->sequence(), group->name());
    Apply(group.get(), group->FailParked(CheckNobodyIsLeaving(*group, op)));
  }
}

// "missing 1 of 3: rank 2 (node ...), ...; had come and stopped waiting: rank 1".
std::string Coordinator::Impl::DescribeAbsentees(const Absentees& absent, size_t of) const {
  if (absent.missing.empty()) {
    return absl::StrCat("all ", of, " had come, but some have stopped waiting: ",
                        DescribeMembers(*epoch(), absent.gave_up, job_.now));
  }
  return absl::StrCat("missing ", absent.missing.size(), " of ", of, ": ",
                      DescribeMembers(*epoch(), absent.missing, job_.now),
                      absent.gave_up.empty() ? ""
                                             : absl::StrCat("; had come and stopped waiting: ",
                                                            Ranks(absent.gave_up)));
}

absl::Status Coordinator::Impl::CollectiveTimeout(const ParkedCall& call,
                                                  const ForCollective& wait) const {
  CollectiveGroup& group = *wait.group;
  const std::string& absence = group.DescribeAbsence(job_.now, wait.sequence, [&] {
    return DescribeAbsentees(group.AbsentFrom(wait.sequence), group.ranks().size());
  });
  return absl::DeadlineExceededError(absl::StrCat(group.OperationAt(wait.index, wait.sequence),
                                                  " waited ", HowLong(call.timeout), "; ",
                                                  absence));
}

}  // namespace muster::core
