#include "server/core/api/describe.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/names/operation_names.h"
#include "common/names/store_waits.h"
#include "common/text/number_ranges.h"

namespace muster::core {
namespace {

absl::string_view KindName(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kBarrier:
      return "Barrier";
    case CollectiveKind::kBroadcast:
      return "Broadcast";
    case CollectiveKind::kGather:
      return "Gather";
    case CollectiveKind::kAllGather:
      return "AllGather";
  }
  return "?";
}

bool HasRoot(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kGather;
}

}  // namespace

std::string RankRanges(const std::vector<uint32_t>& ranks, size_t max_ranges) {
  return NumberRanges(ranks, max_ranges);
}

std::string Ranks(const std::vector<uint32_t>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ", RankRanges(ranks));
}

std::string DescribeMember(std::optional<uint32_t> rank, const MemberIdentity& member,
                           const NodeNames& names) {
  return absl::StrCat(rank ? absl::StrCat("rank ", *rank) : "process", " (",
                      names.DescribeWithHost(member.node_id, member.hostname), ", pid ", member.pid,
                      ")");
}

absl::Status PlaceTaken(absl::string_view place, absl::string_view holder,
                        absl::string_view newcomer) {
  // Launchers count local ranks from 0, each on its own idea of the node.
  const absl::string_view remedy =
      absl::StartsWith(place, "local rank")
          ? "; where two launchers share a host, give each a --node-id (MUSTER_NODE_ID) of its "
            "own; "
            "else stop the other process first"
          : "; give each process a rank of its own, or stop the other one first";
  return absl::AlreadyExistsError(absl::StrCat(
      place, " is asked for twice: ", holder, " holds it, and ", newcomer, " asks for it", remedy));
}

std::string DescribeDuration(absl::Duration duration) {
  if (duration < absl::Minutes(2)) {
    return absl::StrFormat("%.3gs", absl::ToDoubleSeconds(duration));
  }
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

std::string MaskNumbers(absl::string_view name) {
  std::string text;
  for (const char c : name) {
    if (!absl::ascii_isdigit(c)) {
      text += c;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

std::string DescribeOperation(const Operation& operation) {
  CollectiveFields words = {KindName(operation.kind), operation.label, std::nullopt,
                            operation.type_name, operation.payload_size};
  if (HasRoot(operation.kind)) words.root = operation.root;
  return DescribeCollective(words);
}

std::string DescribeStep(absl::string_view operation, uint64_t sequence, const GroupName& group) {
  return muster::DescribeStep(operation, sequence, DescribeGroup(group));
}

std::string DescribeGroup(const GroupName& group) {
  if (group.name.empty()) return "the world";
  if (group.ranks.empty()) return absl::StrCat("group '", group.name, "'");
  return absl::StrCat("group '", group.name, "' (", Ranks(group.ranks), ")");
}

std::string DescribeLease(absl::string_view name, LeaseScope scope, absl::string_view node_id,
                          const NodeNames& names) {
  return absl::StrCat("lease '", name, "' of ",
                      scope == LeaseScope::kNode ? names.Describe(node_id) : "the job");
}

std::string DescribeStoreWaiters(const StoreWaiters& waiters, const NodeNames& names) {
  std::vector<std::string> nodes;
  for (const std::string& node : waiters.launcher_nodes) {
    nodes.push_back(names.DescribeLauncherNode(node));
  }
  return absl::StrCat(DescribeStoreClients(waiters.ranks, nodes, waiters.others), " ",
                      DescribeDuration(waiters.age), " in the store: ", waiters.what);
}

std::string DescribeStoreWait(absl::string_view missing, absl::Duration age) {
  return absl::StrCat("in the store for ", DescribeDuration(age), " (", missing, ")");
}

std::string DescribeActivity(const MemberStatus& member) {
  if (member.missing_in_store.empty() || !member.waiting_in.empty()) return member.activity;
  return absl::StrCat(DescribeStoreWait(member.missing_in_store, member.in_store_for), ", ",
                      member.activity);
}

std::string DescribeExit(bool signaled, int code) {
  if (!signaled) return absl::StrCat("exited with status ", code);
  const char* name = sigabbrev_np(code);
  return absl::StrCat("killed by signal ", code,
                      name == nullptr ? "" : absl::StrCat(" (SIG", name, ")"));
}

std::string DescribeUnusedMuster(size_t processes) {
  if (processes == 1) return "1 process runs; it does not use Muster (it has not called Join)";
  return absl::StrCat(processes, " processes run; none uses Muster (none has called Join)");
}

}  // namespace muster::core
