#include "server/core/job/epoch.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"

namespace muster::core {

namespace {

// Detects the most common mistake: each rank names itself first.
absl::string_view InAnotherOrder(std::vector<uint32_t> a, std::vector<uint32_t> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b ? ", the same ranks in another order" : "";
}

}  // namespace

Epoch::Epoch(EpochId id, std::shared_ptr<const Roster> roster, std::vector<Member*> members,
             bool recovered, const Limits& limits, ByteBudget* budget, Tally* tally)
    : id_(id),
      roster_(std::move(roster)),
      members_(std::move(members)),
      recovered_(recovered),
      limits_(limits),
      budget_(budget),
      lateness_(tally),
      claimed_groups_(budget) {}

absl::StatusOr<CollectiveGroup*> Epoch::AddGroup(const GroupName& name) {
  if (const CollectiveGroup* other = groups_.Overlapping(name); other != nullptr) {
    if (std::all_of(name.ranks.begin(), name.ranks.end(),
                    [other](uint32_t rank) { return other->IsReleasedBy(rank); })) {
      return absl::UnavailableError(
          absl::StrCat(other->description(),
                       " has the same name, and some of its ranks have not released it yet"));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "two groups are called '", name.name, "' and share ranks: ", other->description(), " and ",
        DescribeGroup(name), InAnotherOrder(other->ranks(), name.ranks),
        "; groups of one name must be the same list or share no rank"));
  }
  if (groups_.size() >= limits_.max_groups) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the epoch has ", groups_.size(), " groups, the limit (musterd --max-groups raises it)"));
  }
  // A member that comes back claims all of its groups, so the groups made here must fit into one
  // claim.
  if (groups_.named_ranks() + name.ranks.size() > limits_.max_group_ranks) {
    return absl::ResourceExhaustedError(absl::StrCat(
        DescribeGroup(name), " has ", name.ranks.size(), " ranks, and the ", groups_.size(),
        " groups of the epoch have ", groups_.named_ranks(), " already; the limit is ",
        limits_.max_group_ranks,
        " (musterd --max-group-ranks raises it). A group stays until all its ranks have released "
        "it: make a group once and use it for many steps, or destroy its handles"));
  }
  std::vector<uint32_t> ranks = name.ranks;
  if (name.name.empty()) {
    ranks.resize(size());
    std::iota(ranks.begin(), ranks.end(), 0u);
  }
  auto group = std::make_unique<CollectiveGroup>(name, std::move(ranks), recovered_,
                                                 limits_.max_answer_bytes, budget_, &lateness_);
  if (stop_asked_ && name.name.empty()) group->stop().Ask();
  return groups_.Add(std::move(group));
}

void Epoch::AskStop() {
  stop_asked_ = true;
  if (CollectiveGroup* world = groups_.World(); world != nullptr) world->stop().Ask();
}

}  // namespace muster::core
