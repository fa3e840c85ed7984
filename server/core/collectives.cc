// Barrier, Broadcast, Gather and AllGather: what the epoch adds to its groups.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

// A path and a line.
constexpr uint32_t kMaxCallSiteBytes = 1024;

absl::Status CheckOptionalName(absl::string_view what, const std::string& name, uint32_t max) {
  return name.empty() ? absl::OkStatus() : ValidateName(what, name, max);
}

bool RootOnly(CollectiveKind kind) { return kind == CollectiveKind::kBroadcast; }

}  // namespace

absl::Status Coordinator::Impl::CheckGroup(const GroupName& group, uint32_t caller_rank,
                                           uint32_t size) const {
  if (group.name.empty() != group.ranks.empty()) {
    return absl::InvalidArgumentError(
        "a group has a name and ranks; the world has neither of them");
  }
  if (group.name.empty()) return absl::OkStatus();
  const uint32_t max = options_.limits.max_name_bytes;
  if (absl::Status s = ValidateName("group name", group.name, max); !s.ok()) return s;
  const auto refuse = [&](const auto&... text) {
    return absl::InvalidArgumentError(absl::StrCat(text...));
  };
  std::vector<bool> seen(size);
  for (uint32_t rank : group.ranks) {
    if (rank >= size) {
      return refuse("group '", group.name, "' names rank ", rank, "; the job's ranks are 0-",
                    size - 1);
    }
    if (seen[rank]) return refuse("group '", group.name, "' names rank ", rank, " twice");
    seen[rank] = true;
  }
  if (seen[caller_rank]) return absl::OkStatus();
  std::vector<uint32_t> sorted = group.ranks;
  std::sort(sorted.begin(), sorted.end());
  return refuse("rank ", caller_rank, " is not in group '", group.name, "' (", Ranks(sorted),
                ") and cannot call it");
}

absl::Status Coordinator::Impl::CheckCollective(const CollectiveRequest& request) const {
  const Limits& limits = options_.limits;
  if (absl::Status s = CheckOptionalName("label", request.label, limits.max_name_bytes); !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckOptionalName("type name", request.type_name, limits.max_name_bytes);
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckOptionalName("call site", request.call_site, kMaxCallSiteBytes);
      !s.ok()) {
    return s;
  }
  const size_t size = request.group.name.empty() ? WorldSize() : request.group.ranks.size();
  if (request.root >= size) {
    return absl::InvalidArgumentError(absl::StrCat("root ", request.root,
                                                   " is out of range: ", GroupWords(request.group),
                                                   " has ", size, " members"));
  }
  if (request.payload->size() > limits.max_payload_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "payload has ", request.payload->size(), " bytes; the limit is ", limits.max_payload_bytes,
        " (musterd --max-payload-bytes raises it; tensors belong on a Communicator)"));
  }
  return CanPark();
}

// What a rank sends must be what its call says that everybody sends.
absl::Status Coordinator::Impl::CheckPayload(const CollectiveRequest& request, uint32_t index,
                                             uint32_t rank) const {
  const bool sends = !RootOnly(request.kind) || index == request.root;
  if (!sends) {
    if (request.payload->empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank,
                                                   " sends a payload to a Broadcast with root ",
                                                   request.root, "; only the root does"));
  }
  if (!request.payload_size || *request.payload_size == request.payload->size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " sends a payload of ",
                                                 request.payload->size(), " bytes to ",
                                                 OperationOf(request)));
}

absl::StatusOr<CollectiveGroup*> Coordinator::Impl::FindGroup(const GroupName& name) {
  auto& groups = epoch_->groups;
  const auto it = groups.find(name);
  if (it != groups.end()) return it->second.get();
  for (auto same = groups.lower_bound({name.name, {}});
       same != groups.end() && same->first.name == name.name; ++same) {
    if (!same->second->Shares(name.ranks)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "two groups are called '", name.name, "' and share ranks: ", same->second->words(), " and ",
        GroupWords(name), "; groups of one name must be the same list or share no rank"));
  }
  if (groups.size() >= options_.limits.max_groups) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the epoch has ", groups.size(), " groups, the limit (musterd --max-groups raises it)"));
  }
  std::vector<uint32_t> ranks = name.ranks;
  for (uint32_t rank = 0; name.name.empty() && rank < WorldSize(); ++rank) ranks.push_back(rank);
  auto group =
      std::make_unique<CollectiveGroup>(name, std::move(ranks), epoch_->recovered, &budget_);
  if (stop_asked_ && name.name.empty()) group->AskStop();
  return groups.emplace(name, std::move(group)).first->second.get();
}

absl::Status Coordinator::Impl::CheckNobodyIsLeaving(const CollectiveGroup& group,
                                                     const std::string& op) const {
  if (epoch_->leavers == 0) return absl::OkStatus();  // every arrival asks
  std::vector<uint32_t> leaving;
  for (uint32_t rank : group.ranks()) {
    if (epoch_->members[rank]->leaving) leaving.push_back(rank);
  }
  if (leaving.empty()) return absl::OkStatus();
  std::sort(leaving.begin(), leaving.end());
  return absl::FailedPreconditionError(
      absl::StrCat(op, " cannot complete: ", Ranks(leaving), " of ", group.words(),
                   leaving.size() == 1 ? " has" : " have", " called Leave"));
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member,
                                      const CollectiveRequest& request) {
  if (absl::Status s = CheckEpoch(*member, request.epoch); !s.ok()) return s;
  if (absl::Status s = CheckGroup(request.group, *member->rank, WorldSize()); !s.ok()) return s;
  if (absl::Status s = CheckCollective(request); !s.ok()) return s;
  absl::StatusOr<CollectiveGroup*> found = FindGroup(request.group);
  if (!found.ok()) return found.status();
  CollectiveGroup* group = *found;
  const uint32_t index = *group->IndexOf(*member->rank);
  if (absl::Status s = CheckPayload(request, index, *member->rank); !s.ok()) return s;
  const std::string op =
      absl::StrCat(OperationOf(request), " op ", request.sequence, " of ", group->words());
  if (request.sequence >= group->sequence()) {
    if (absl::Status s = CheckStays(*member); !s.ok()) return s;
    if (absl::Status s = CheckNobodyIsLeaving(*group, op); !s.ok()) return s;
    member->last_collective = op;
  }
  const bool only_contributes = group->HasCompleted(index, request.sequence);
  Waiter waiter(member, Waiter::Call::kCollective);
  waiter.group = group;
  waiter.sequence = request.sequence;
  Park(id, std::move(waiter), request.call, only_contributes ? "" : op);
  Apply(group, group->Arrive(now_, index, id, request));
  return absl::OkStatus();
}

void Coordinator::Impl::Apply(CollectiveGroup* group, CollectiveGroup::Step step) {
  for (CollectiveGroup::Finished& done : step) {
    Finish(done.waiter, done.status, std::move(done.answer));
  }
  if (group->TakeFinishedNews()) AnnounceFinished(*group);
  if (epoch_->recovered) AskForContributions(group);
}

void Coordinator::Impl::AnnounceFinished(const CollectiveGroup& group) {
  Log(Severity::kError, group.finished_text());
  for (uint32_t rank : group.ranks()) {
    Send(epoch_->members[rank],
         GroupFinished{epoch_->id, group.name(), Say(group.finished_text())});
  }
}

// The leaver will not come: whoever waits for it must not wait any longer.
void Coordinator::Impl::FailCollectivesOf(Member* leaver) {
  for (const auto& [key, group] : epoch_->groups) {
    if (!group->pending() || !group->IndexOf(*leaver->rank)) continue;
    const std::string op =
        absl::StrCat(group->PendingOperation(), " op ", group->sequence(), " of ", group->words());
    Apply(group.get(), group->FailParked(CheckNobodyIsLeaving(*group, op)));
  }
}

std::string Coordinator::Impl::DescribeMissing(const CollectiveGroup& group,
                                               uint64_t sequence) const {
  const std::vector<uint32_t> missing = group.Missing(sequence);
  return absl::StrCat("missing ", missing.size(), " of ", group.ranks().size(), ": ",
                      DescribeMembers(missing));
}

absl::Status Coordinator::Impl::CollectiveTimeout(const Waiter& waiter) const {
  const CollectiveGroup& group = *waiter.group;
  const uint32_t index = *group.IndexOf(*waiter.member->rank);
  return absl::DeadlineExceededError(absl::StrCat(group.OperationAt(index, waiter.sequence),
                                                  " waited ", HowLong(waiter.timeout), "; ",
                                                  DescribeMissing(group, waiter.sequence)));
}

}  // namespace muster::core
