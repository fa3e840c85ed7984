#ifndef MUSTER_SERVER_CORE_API_VALIDATION_H_
#define MUSTER_SERVER_CORE_API_VALIDATION_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/core/api/claim.h"
#include "server/core/api/member_fingerprint.h"
#include "server/core/api/options.h"
#include "server/core/api/requests.h"

// Checks of requests that do not depend on the job's state. Each function returns OK, or
// INVALID_ARGUMENT (RESOURCE_EXHAUSTED for amounts) that names the field, its value and the bound.
namespace muster::core {

// The bounds that no flag sets. Limits has the bounds that flags set.
inline constexpr size_t kIncarnationBytes = 16;
inline constexpr size_t kMaxVersionBytes = 64;
inline constexpr size_t kMaxCpusBytes = 512;       // a list such as "0-3,8"
inline constexpr size_t kMaxCallSiteBytes = 1024;  // a path and a line
inline constexpr size_t kMaxGivenUpBytes = 1024;   // a sentence
inline constexpr size_t kMaxNodeParts = 1024;      // of one NodeCollective; at most 2^kPartBits
inline constexpr size_t kMaxReleases = 1024;       // of one ReleaseGroups
inline constexpr size_t kMaxCommits = 1024;        // of one ReportCommits
inline constexpr size_t kMaxFacts = 256;           // of one fingerprint
inline constexpr size_t kMaxFactNameBytes = 128;
inline constexpr size_t kMaxFactValueBytes = 512;
// The bound on reasons, causes and activities, the daemon's own and those in claims. gRPC's
// metadata, which carries errors, has 8 KiB in total.
inline constexpr size_t kMaxTextBytes = 6 << 10;
// How far ahead of this daemon's clock the numbers in a claim may be. Epoch numbers and, times
// 1024, lease tokens are microseconds since 1970, and the clocks of earlier daemons may have been
// wrong. The bound grows with the clock, which is faster than numbers are given out. So every
// number that was accepted once can be counted on from, and is accepted after the next restart too.
inline constexpr absl::Duration kMaxClaimedLead = absl::Hours(24 * 365 * 100);

absl::Status CheckIdentity(const MemberIdentity& member, const Limits& limits);

// Checks a text for people, which may be empty: at most kMaxTextBytes, without control characters.
absl::Status CheckText(absl::string_view what, absl::string_view text);

// Checks the facts of a fingerprint.
absl::Status CheckFacts(const Facts& facts);

// Checks a name that may be empty. If it is not, the rules of ValidateName() hold.
absl::Status CheckOptionalName(absl::string_view what, absl::string_view name, size_t max_bytes);

// Checks the sequence number of a collective: see HasSuccessor().
absl::Status CheckSequence(uint64_t sequence);

// Checks the number of parts of a NodeCollective.
absl::Status CheckNodeParts(size_t parts);

// Checks a group that the member of rank `caller_rank` names in an epoch of `size` members.
absl::Status CheckGroup(const GroupName& group, uint32_t caller_rank, uint32_t size,
                        const Limits& limits);

// Checks the commits of a ReportCommits.
absl::Status CheckCommits(const CommitReport& report, const Limits& limits);

// Checks the groups that a ReleaseGroups names.
absl::Status CheckRelease(const ReleaseRequest& request);

absl::Status CheckLeaseName(absl::string_view name, const Limits& limits);
// Checks the outcome of leased work. It may be as large as a payload, an error's message included.
absl::Status CheckLeaseResult(absl::string_view name, const LeaseResult& result,
                              const Limits& limits);

// Checks all numbers, texts and amounts of a claim, and that they fit each other. Checks the ranks
// of its groups only if the claim has a roster.
absl::Status CheckClaim(const MemberIdentity& claimant, const Claim& claim, const Limits& limits,
                        Time now);
// Checks the ranks of the claim's groups, in an epoch of `size` members.
absl::Status CheckClaimedGroups(const Claim& claim, uint32_t size, const Limits& limits);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_VALIDATION_H_
