#include "client/gloo/node_memory/memory_sharing.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/gloo/node_memory/step_sequencer.h"
#include "client/src/environment/variables.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

constexpr char kVariable[] = "MUSTER_GLOO_SHARED_MEMORY";

size_t SizeFor(const std::vector<int>& ranks) { return SharedLayout(ranks.size()).total; }

}  // namespace

absl::StatusOr<bool> MayShareMemory() {
  const Variables variables = ProcessVariables();
  VariableReader reader(variables);
  bool share = true;
  reader.Read(kVariable, &share);
  if (!reader.status().ok()) return reader.status();
  return share;
}

absl::StatusOr<NodeLayout> NodesThatShare(const Group& group,
                                          const std::vector<GlooPeerInfo>& infos) {
  std::vector<std::string> names;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (infos[rank].shared_memory().empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(DescribePeer(group, rank), " has ", kVariable, "=0"));
    }
    // A rank without a boot id is alone.
    const std::string& kernel = infos[rank].boot_id();
    names.push_back(kernel.empty() ? absl::StrCat(rank)
                                   : absl::StrCat(kernel, "/", group.member(rank).node_id));
  }
  NodeLayout nodes(names);
  if (nodes.all_alone()) return absl::FailedPreconditionError("no two are on one node");
  return nodes;
}

absl::StatusOr<std::unique_ptr<SharedRegion>> MakeNodeRegion(
    const NodeLayout& nodes, int rank, const std::vector<GlooPeerInfo>& infos) {
  const std::vector<int>& ranks = nodes.neighbours_of(rank);
  if (rank != ranks.front()) return nullptr;
  if (ranks.size() == 1) return absl::FailedPreconditionError("it is alone on its node");
  if (ranks.size() > StepSequencer::kMaxRanks) {
    return absl::FailedPreconditionError(
        absl::StrCat("its node has more than ", StepSequencer::kMaxRanks, " of them"));
  }
  return SharedRegion::Make(infos[rank].shared_memory(), SizeFor(ranks));
}

absl::StatusOr<std::unique_ptr<SharedRegion>> OpenNodeRegion(const Group& group,
                                                             const NodeLayout& nodes,
                                                             const std::vector<GlooPeerInfo>& infos,
                                                             const std::vector<bool>& made) {
  const std::vector<int>& ranks = nodes.neighbours_of(group.rank());
  const int first = ranks.front();
  if (!made[first]) {
    return absl::UnavailableError(absl::StrCat(DescribePeer(group, first), " cannot make any"));
  }
  return SharedRegion::Open(infos[first].shared_memory(), SizeFor(ranks));
}

absl::Status CheckNodeShares(const Group& group, const NodeLayout& nodes,
                             const std::vector<bool>& can_share) {
  for (const int rank : nodes.neighbours_of(group.rank())) {
    if (can_share[rank]) continue;
    return absl::UnavailableError(absl::StrCat(DescribePeer(group, rank), " cannot open it"));
  }
  return absl::OkStatus();
}

std::string DescribeSharing(const NodeLayout& nodes, const absl::Status& why) {
  if (nodes.all_alone()) return DescribeNoSharing(why);
  if (nodes.nodes().size() == 1) return "its collectives go through shared memory";
  const std::string levels = absl::StrCat(
      "its collectives go through shared memory on each node, and through "
      "connections between ",
      nodes.nodes().size(), " of them");
  if (why.ok()) return levels;
  return absl::StrCat(levels, "; this rank shares none: ", why.message());
}

std::string DescribeNoSharing(const absl::Status& why) {
  return absl::StrCat("its ranks do not share memory: ", why.message());
}

}  // namespace muster::internal
