#ifndef MUSTER_SERVER_CORE_DESCRIBE_H_
#define MUSTER_SERVER_CORE_DESCRIBE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/node_names.h"
#include "server/core/requests.h"
#include "server/core/vocabulary.h"

// The words for what the core decides. Errors, log lines and the status page all use these.
namespace muster::core {

// Sorted ranks as ranges: "3,8-15". At most `max_ranges` of them, then ",...": messages are
// bounded.
std::string RankRanges(const std::vector<uint32_t>& ranks, size_t max_ranges = 32);

// "rank 3", "ranks 3,8-15".
std::string Ranks(const std::vector<uint32_t>& ranks);

// "rank 3 (host h, pid 4711)", "rank 3 (node 'n1', host h, pid 4711)" where the node was given an
// id; "process (host ...)" without a rank. `names` are those of the job's nodes.
std::string Who(std::optional<uint32_t> rank, const MemberIdentity& member, const NodeNames& names);

// ALREADY_EXISTS: both processes ask for this place ("rank 3").
absl::Status PlaceTaken(absl::string_view place, absl::string_view holder,
                        absl::string_view newcomer);

// "12.3s": three significant digits are enough for people.
std::string HowLong(absl::Duration duration);

// "step 812" -> "step #": names that count are one.
std::string WithoutNumbers(absl::string_view name);

// "Barrier('epoch 1')", "Broadcast(root 0, int64, 8 bytes)".
std::string DescribeOperation(const Operation& operation);
// "AllGather('x', int32) op 12 of the world"; see common/operation_words.h.
std::string DescribeStep(absl::string_view operation, uint64_t sequence, const GroupName& group);

// "the world", "group 'tp' (ranks 0,2)".
std::string DescribeGroup(const GroupName& group);

// "lease 'unpack' of host h", "lease 'unpack' of node 'n1'", "lease 'index' of the job".
std::string DescribeLease(absl::string_view name, LeaseScope scope, absl::string_view node_id,
                          const NodeNames& names);

// "exited with status 3", "killed by signal 9 (Killed)".
std::string DescribeExit(bool signaled, int code);

// Of processes that run where none has joined: "2 processes run; none uses Muster (none has called
// Join)". A program that does not use Muster never joins.
std::string NoneUsesMuster(size_t processes);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DESCRIBE_H_
