#include "server/core/diagnosis/wait_graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

// Ranks by the call that they wait in.
using Callers = absl::flat_hash_map<std::string, std::vector<uint32_t>>;

Callers CallersOf(const JobStatus& job) {
  Callers callers;
  for (const MemberStatus& member : job.members) {
    if (member.rank && !member.waiting_in.empty()) {
      callers[member.waiting_in].push_back(*member.rank);
    }
  }
  return callers;
}

Wait WaitOf(const PendingCollective& pending) {
  Wait wait;
  wait.what = DescribeStep(pending.operation, pending.sequence, pending.group);
  wait.waiting = pending.arrived;
  wait.awaited = pending.missing.empty() ? pending.gave_up : pending.missing;
  wait.not_done = absl::StrCat(
      pending.missing.empty() ? "arrived at, and no longer waits in, " : "has not come to ",
      wait.what);
  wait.gave_up = pending.missing.empty() ? 0 : pending.gave_up.size();
  wait.age = pending.age;
  return wait;
}

Wait WaitOf(const LeaseStatus& lease, const Callers& callers, const NodeNames& names) {
  Wait wait;
  wait.what = DescribeLease(lease.name, lease.scope, lease.node_id, names);
  wait.not_done = absl::StrCat("has held ", wait.what, " for ", DescribeDuration(lease.held_for));
  if (const auto found = callers.find(wait.what); found != callers.end()) {
    wait.waiting = found->second;
  }
  wait.awaited = {*lease.holder_rank};
  wait.age = lease.held_for;
  return wait;
}

// Returns the wait of members that have called Leave, or Rejoin, for members that have not.
Wait CallOfAll(const JobStatus& job, const std::string& call) {
  Wait wait;
  wait.what = call;
  wait.not_done = absl::StrCat("has not called ", call);
  for (const MemberStatus& member : job.members) {
    if (!member.rank) continue;
    if (member.waiting_in == call) {
      wait.waiting.push_back(*member.rank);
      wait.age = std::max(wait.age, member.waiting_for);
    } else if (member.state != MemberState::kLost && member.state != MemberState::kLeft) {
      wait.awaited.push_back(*member.rank);
    }
  }
  return wait;
}

}  // namespace

WaitGraph::WaitGraph(const JobStatus& job) {
  if (job.state == JobState::kReforming) {
    Wait rejoin = CallOfAll(job, "Rejoin");
    if (rejoin.awaited.empty()) rejoined_in_vain_ = rejoin.waiting.size();
    Add(std::move(rejoin));
  } else {
    const Callers callers = CallersOf(job);
    NodeNames names;
    for (const MemberStatus& member : job.members) names.Add(member.member.node_id);
    for (const PendingCollective& pending : job.pending) Add(WaitOf(pending));
    for (const LeaseStatus& lease : job.leases) {
      if (lease.holder_rank && lease.waiters > 0) Add(WaitOf(lease, callers, names));
    }
    Add(CallOfAll(job, "Leave"));
  }
  std::stable_sort(waits_.begin(), waits_.end(),
                   [](const Wait& a, const Wait& b) { return a.age > b.age; });
  for (const Wait& wait : waits_) {
    for (const uint32_t rank : wait.waiting) by_rank_.emplace(rank, &wait);
  }
}

void WaitGraph::Add(Wait wait) {
  const bool for_nobody = wait.awaited.empty() || (wait.waiting.empty() && wait.gave_up == 0);
  if (!for_nobody) waits_.push_back(std::move(wait));
}

const Wait* WaitGraph::OldestOf(uint32_t rank) const {
  const auto found = by_rank_.find(rank);
  return found == by_rank_.end() ? nullptr : found->second;
}

std::vector<uint32_t> WaitGraph::NotWaiting(const Wait& wait) const {
  std::vector<uint32_t> ranks;
  for (const uint32_t rank : wait.awaited) {
    if (OldestOf(rank) == nullptr) ranks.push_back(rank);
  }
  return ranks.empty() ? wait.awaited : ranks;
}

}  // namespace muster::core
