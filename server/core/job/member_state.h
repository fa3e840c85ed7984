#ifndef MUSTER_SERVER_CORE_JOB_MEMBER_STATE_H_
#define MUSTER_SERVER_CORE_JOB_MEMBER_STATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/api/effects.h"
#include "server/core/api/job_status.h"
#include "server/core/job/epoch.h"
#include "server/core/job/member_table.h"

// The standing of members in the job, and the texts for it.
namespace muster::core {

MemberState StateOf(const Member& member);

// Returns FAILED_PRECONDITION if the member has called Leave.
absl::Status CheckNotLeaving(const Member& member);

// Return whether a member of a broken epoch waits for the next one, or may still come.
bool HasRejoined(const Member& member);
bool MayStillRejoin(const Member& member);
std::vector<uint32_t> AwaitedRanks(const Epoch& epoch);

// Returns, for an event, what these ranks of the epoch are doing.
std::vector<MissingMember> MissingMembers(const Epoch& epoch, const std::vector<uint32_t>& ranks,
                                          Time now);
// Returns text such as "rank 1 (node ...), detached, last completed ...", or for several ranks
// "ranks 1,3; rank 1 (node ...), ...; rank 3 (node ...), ...". Describes the first few ranks.
std::string DescribeMembers(const Epoch& epoch, const std::vector<uint32_t>& ranks, Time now);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_MEMBER_STATE_H_
