// ReportCommits: collectives that a member has completed itself, as the sender for all ranks of a
// group on one node (docs/node-fan-in.md, "Completion on the node").

#include <memory>

#include "absl/strings/str_cat.h"
#include "server/core/api/validation.h"
#include "server/core/collectives/collectives.h"

namespace muster::core {

absl::Status Collectives::CheckContent(const Member&, const CommitReport& report) const {
  return CheckCommits(report, job_.options.limits);
}

absl::StatusOr<CollectiveGroup*> Collectives::GroupOfCommits(const Member& member,
                                                             const CommitReport::Group& commits) {
  const uint32_t rank = *member.rank();
  CollectiveGroup* group = epoch()->groups().Find(commits.name, rank);
  if (group == nullptr && commits.name.name.empty()) {
    const absl::StatusOr<CollectiveGroup*> world = groups_.Find(GroupName(), rank);
    if (!world.ok()) return world;
    group = *world;
  }
  if (group == nullptr) return group;
  if (!group->IsTrusted(*group->IndexOf(rank))) {
    return absl::FailedPreconditionError(
        absl::StrCat(member.Describe(), " reports commits of ", group->description(),
                     group->on_one_node() ? ", and has not offered to (commits_on_node)"
                                          : ", which has ranks on several nodes"));
  }
  for (const CommitReport::Commit& commit : commits.commits) {
    if (commit.delays.size() == group->ranks().size()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the commit of op ", commit.sequence, " of ", group->description(), " has ",
                     commit.delays.size(), " delays; expected one for each of ",
                     group->ranks().size(), " ranks"));
  }
  return group;
}

// A group may be forgotten since: a report that was sent before its release may come late.
absl::Status Collectives::Serve(WaiterId id, Member* member, const CommitReport& report) {
  if (absl::Status s = life_.CheckEpoch(*member, report.epoch); !s.ok()) return s;
  for (const CommitReport::Group& commits : report.groups) {
    if (absl::Status s = GroupOfCommits(*member, commits).status(); !s.ok()) return s;
  }
  for (const CommitReport::Group& commits : report.groups) {
    CollectiveGroup* const group = *GroupOfCommits(*member, commits);
    if (group != nullptr && !commits.commits.empty()) TakeCommits(*member, group, commits);
  }
  calls_.Respond(id);
  return absl::OkStatus();
}

void Collectives::TakeCommits(const Member& member, CollectiveGroup* group,
                              const CommitReport::Group& commits) {
  const uint32_t index = *group->IndexOf(*member.rank());
  const bool is_news = commits.commits.back().sequence >= group->sequence();
  for (const CommitReport::Commit& commit : commits.commits) {
    if (group->HasReported(index, commit.sequence)) continue;
    for (size_t i = 0; i < group->ranks().size(); ++i) {
      Count(commit.kind, &job_.tally.counters.arrivals);
    }
    groups_.Apply(group, group->TakeCommit(job_.now, index, commit));
  }
  if (!is_news) return;
  CollectiveRequest last;
  static_cast<Operation&>(last) = commits.commits.back();
  last.sequence = commits.commits.back().sequence;
  const Calls::Description op = group->texts().Describe(last, group->description());
  for (const uint32_t rank : group->ranks()) {
    Member* const arrived = epoch()->members()[rank];
    arrived->last_call = job_.now;
    arrived->last_collective = op;
    arrived->activity.CompletedOnNode(op, job_.now);
  }
}

}  // namespace muster::core
