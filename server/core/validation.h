#ifndef MUSTER_SERVER_CORE_VALIDATION_H_
#define MUSTER_SERVER_CORE_VALIDATION_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/core/claim.h"
#include "server/core/fingerprint.h"
#include "server/core/options.h"
#include "server/core/requests.h"

// What requests must be like, whatever the state of the job is. Each function returns OK, or
// INVALID_ARGUMENT (RESOURCE_EXHAUSTED for amounts) that names the field, its value and the bound.
namespace muster::core {

// The bounds that no flag sets. Those that flags set are in Limits.
inline constexpr size_t kIncarnationBytes = 16;
inline constexpr size_t kMaxVersionBytes = 64;
inline constexpr size_t kMaxCallSiteBytes = 1024;  // a path and a line
inline constexpr size_t kMaxGivenUpBytes = 1024;   // a sentence
inline constexpr size_t kMaxNodeParts = 1024;      // of one NodeCollective; ids count on it
inline constexpr size_t kMaxReleases = 1024;       // of one ReleaseGroups
inline constexpr size_t kMaxFacts = 256;           // of one fingerprint
inline constexpr size_t kMaxFactNameBytes = 128;
inline constexpr size_t kMaxFactValueBytes = 512;
// Reasons, causes and activities, ours and those that claims bring back. gRPC's metadata, which
// carries errors, has 8 KiB in all.
inline constexpr size_t kMaxTextBytes = 6 << 10;
// Epoch numbers and, times 1024, lease tokens are microseconds since 1970. A claim may be so far
// ahead of this daemon's clock, since clocks of earlier daemons may have been wrong; what it may
// name grows with the clock faster than numbers are given out, so that whatever was once accepted
// can be counted on from, and is accepted after the next restart as well.
inline constexpr absl::Duration kMaxClaimedLead = absl::Hours(24 * 365 * 100);

absl::Status CheckIdentity(const MemberIdentity& member, const Limits& limits);

// A text for people: at most kMaxTextBytes, without control characters. May be empty.
absl::Status CheckText(absl::string_view what, absl::string_view text);

// What a fingerprint says.
absl::Status CheckFacts(const Facts& facts);

// A name that may be left out: empty, or as ValidateName says.
absl::Status CheckOptionalName(absl::string_view what, absl::string_view name, size_t max_bytes);

// Of a collective: one that can be counted on from.
absl::Status CheckSequence(uint64_t sequence);

// How many parts a NodeCollective has.
absl::Status CheckNodeParts(size_t parts);

// A group of an epoch of `size` members that the member of rank `caller_rank` names.
absl::Status CheckGroup(const GroupName& group, uint32_t caller_rank, uint32_t size,
                        const Limits& limits);

// What a ReleaseGroups names.
absl::Status CheckRelease(const ReleaseRequest& request);

absl::Status CheckLeaseName(absl::string_view name, const Limits& limits);
// The outcome of leased work, an error's message included, may be as large as a payload.
absl::Status CheckLeaseResult(absl::string_view name, const LeaseResult& result,
                              const Limits& limits);

// All numbers, texts and amounts of a claim, and that they fit each other; of the groups' ranks
// only if the claim has a roster.
absl::Status CheckClaim(const MemberIdentity& claimant, const Claim& claim, const Limits& limits,
                        Time now);
// The ranks of its groups, in an epoch of `size` members.
absl::Status CheckClaimedGroups(const Claim& claim, uint32_t size, const Limits& limits);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_VALIDATION_H_
