#ifndef MUSTER_SERVER_CORE_STANDING_H_
#define MUSTER_SERVER_CORE_STANDING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/effects.h"
#include "server/core/epoch.h"
#include "server/core/job_status.h"
#include "server/core/member_table.h"

// How members stand in the job, and the words for it.
namespace muster::core {

MemberState StateOf(const Member& member);

// Returns FAILED_PRECONDITION if the member has called Leave.
absl::Status CheckStays(const Member& member);

// Whether a member of a broken epoch is there for the next one, or may yet be.
bool HasRejoined(const Member& member);
bool MayStillRejoin(const Member& member);
std::vector<uint32_t> AwaitedRanks(const Epoch& epoch);

// Says for an event what these ranks of the epoch are doing.
std::vector<MissingMember> MissingMembers(const Epoch& epoch, const std::vector<uint32_t>& ranks,
                                          Time now);
// "rank 1 (node ...), detached, last completed ..."; of several "ranks 1,3; rank 1 (node ...), ...;
// rank 3 (node ...), ...". Describes the first few.
std::string DescribeMembers(const Epoch& epoch, const std::vector<uint32_t>& ranks, Time now);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_STANDING_H_
