#include "client/src/peer_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace muster::internal {
namespace {

// A call whose time-out is near waits so long all the same: an error that names who died is worth
// it.
constexpr absl::Duration kLeastWait = absl::Seconds(5);

// Names past this many are given as numbers only.
constexpr size_t kDescribed = 3;

absl::Status AwaitLoss(const Group& group, CallOptions options) {
  options.timeout = std::max(options.timeout.value_or(group.default_timeout()), kLeastWait);
  return group.AwaitLoss(options);
}

}  // namespace

std::string DescribePeer(const Group& group, int index) {
  const Member& member = group.member(index);
  const std::string in_job =
      member.rank == index ? "" : absl::StrCat("rank ", member.rank, " of the job, ");
  return absl::StrCat("rank ", index, " (", in_job, "node ", member.node_id, ", pid ", member.pid,
                      ")");
}

std::string DescribePeers(const Group& group, const std::vector<int>& indices) {
  const size_t described = std::min(indices.size(), kDescribed);
  std::vector<std::string> names;
  for (size_t i = 0; i < described; ++i) names.push_back(DescribePeer(group, indices[i]));
  if (described < indices.size()) {
    names.push_back(RankList({indices.begin() + described, indices.end()}));
  }
  return absl::StrJoin(names, ", ");
}

std::string RankList(const std::vector<int>& indices) {
  std::vector<std::string> ranges;
  for (size_t first = 0, next; first < indices.size(); first = next) {
    for (next = first + 1; next < indices.size() && indices[next] == indices[next - 1] + 1;) ++next;
    ranges.push_back(next - first == 1 ? absl::StrCat(indices[first])
                                       : absl::StrCat(indices[first], "-", indices[next - 1]));
  }
  return absl::StrCat(indices.size() == 1 ? "rank " : "ranks ", absl::StrJoin(ranges, ","));
}

absl::Status ExplainBrokenConnection(const Group& group, int peer, absl::string_view operation,
                                     absl::string_view why, const CallOptions& options) {
  const absl::Status lost = AwaitLoss(group, options);
  if (!lost.ok()) return lost;
  return absl::UnavailableError(absl::StrCat(operation, ": the connection to ",
                                             DescribePeer(group, peer), " broke: ", why,
                                             "; the process is not known to be lost"));
}

absl::Status ExplainBrokenPeer(const Group& group, const absl::Status& why,
                               const CallOptions& options) {
  const absl::Status lost = AwaitLoss(group, options);
  if (!lost.ok()) return lost;
  return absl::Status(why.code(),
                      absl::StrCat(why.message(), "; no process of the job is known to be lost"));
}

}  // namespace muster::internal
