#include "muster/toolkits/run_on.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/group/share_or_fail.h"

namespace muster::internal {
namespace {

absl::StatusOr<std::string> WithoutValue(const absl::Status& status) {
  if (!status.ok()) return status;
  return std::string();
}

// Returns a group of the ranks on this node, by local rank. All nodes use one name, because no rank
// is on two nodes.
absl::StatusOr<Group> NodeGroup(Job& job) {
  std::vector<const Member*> node;
  for (const Member& member : job.members()) {
    if (member.node_rank == job.node_rank()) node.push_back(&member);
  }
  std::sort(node.begin(), node.end(),
            [](const Member* a, const Member* b) { return a->local_rank < b->local_rank; });
  std::vector<int> ranks;
  for (const Member* member : node) ranks.push_back(member->rank);
  return job.NewGroup("muster.node", ranks);
}

}  // namespace

absl::Status AwaitNodeRunner(Job& job, const absl::Status& mine, const CallOptions& options,
                             CallSite site) {
  if (job.prevents_block()) return mine;
  const absl::StatusOr<Group> node = NodeGroup(job);
  if (!node.ok()) return node.status();
  return ShareOutcome(*node, 0, WithoutValue(mine), "RunOnLocalRankZero", options, site).status();
}

absl::Status AwaitRunner(Job& job, int rank, const absl::Status& mine, const CallOptions& options,
                         CallSite site) {
  return ShareOutcome(job.world(), rank, WithoutValue(mine), "OneRankOnly", options, site).status();
}

absl::Status AwaitFirst(Job& job, const absl::Status& mine, const CallOptions& options,
                        CallSite site) {
  if (job.prevents_block()) return mine;
  CallOptions patient = options;
  if (!patient.timeout) patient.timeout = kRootLifetimeTimeout;
  return ShareOrFail(job.world(), WithoutValue(mine), "ZeroFirst", patient, site).status();
}

absl::Status CheckRank(const Job& job, int rank, absl::string_view operation) {
  if (rank >= 0 && rank < job.world_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(operation, " on rank ", job.rank(), ": there is no rank ", rank,
                   "; the job has ", job.world_size(), " ranks, 0 to ", job.world_size() - 1));
}

}  // namespace muster::internal
