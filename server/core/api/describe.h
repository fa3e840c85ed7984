#ifndef MUSTER_SERVER_CORE_API_DESCRIBE_H_
#define MUSTER_SERVER_CORE_API_DESCRIBE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/names/node_names.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/job_status.h"
#include "server/core/api/requests.h"

// Texts for the decisions of the core. Errors, log lines and the status page use the same ones.
namespace muster::core {

// Returns sorted ranks as ranges: "3,8-15". Writes at most `max_ranges` of them and then ",...", so
// that messages stay bounded.
std::string RankRanges(const std::vector<uint32_t>& ranks, size_t max_ranges = 32);

// Returns "rank 3" or "ranks 3,8-15".
std::string Ranks(const std::vector<uint32_t>& ranks);

// Returns "rank 3 (host h, pid 4711)", or "rank 3 (node 'n1', host h, pid 4711)" if the node was
// given an id. Without a rank the text begins with "process". `names` are the names of the job's
// nodes.
std::string DescribeMember(std::optional<uint32_t> rank, const MemberIdentity& member,
                           const NodeNames& names);

// Returns ALREADY_EXISTS: `holder` has the place ("rank 3"), and `newcomer` asks for it.
absl::Status PlaceTaken(absl::string_view place, absl::string_view holder,
                        absl::string_view newcomer);

// Returns text such as "12.3s", with three significant digits.
std::string DescribeDuration(absl::Duration duration);

// Replaces each number in the name by '#', so that names that count become one: "step 812" -> "step
// #".
std::string MaskNumbers(absl::string_view name);

// Returns text such as "Barrier('epoch 1')" or "Broadcast(root 0, int64, 8 bytes)".
std::string DescribeOperation(const Operation& operation);
// Returns text such as "AllGather('x', int32) op 12 of the world"; see
// common/names/operation_names.h.
std::string DescribeStep(absl::string_view operation, uint64_t sequence, const GroupName& group);

// Returns "the world" or text such as "group 'tp' (ranks 0,2)".
std::string DescribeGroup(const GroupName& group);

// Returns text such as "lease 'unpack' of host h", "lease 'unpack' of node 'n1'" or "lease 'index'
// of the job".
std::string DescribeLease(absl::string_view name, LeaseScope scope, absl::string_view node_id,
                          const NodeNames& names);

// Returns text such as "ranks 3,5 and the launcher of node 'n1' have waited 41s in the store: key
// 'k' has not been set".
std::string DescribeStoreWaiters(const StoreWaiters& waiters, const NodeNames& names);
// Returns text such as "in the store for 41s (key 'k' has not been set)".
std::string DescribeStoreWait(absl::string_view missing, absl::Duration age);

// Returns what a member does: its activity, after its wait in the store if it has one and no call
// of it is parked.
std::string DescribeActivity(const MemberStatus& member);

// Returns text such as "exited with status 3" or "killed by signal 9 (SIGKILL)".
std::string DescribeExit(bool signaled, int code);

// Returns text for a job in which processes run and none has joined: "2 processes run; none uses
// Muster (none has called Join)". A program that does not use Muster never joins.
std::string DescribeUnusedMuster(size_t processes);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_DESCRIBE_H_
