#include "server/core/api/validation.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/names/group_digest.h"
#include "server/core/api/describe.h"
#include "server/core/api/sequence_limit.h"

namespace muster::core {
namespace {

template <class... Text>
absl::Status Malformed(const Text&... text) {
  return absl::InvalidArgumentError(absl::StrCat(text...));
}

absl::Status AtMost(absl::string_view what, uint64_t amount, uint64_t limit,
                    absl::string_view remedy) {
  if (amount <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " ", amount, "; the limit is ", limit, remedy));
}

// A check of the numbers in one claim.
class NumberCheck {
 public:
  explicit NumberCheck(Time now)
      : max_epoch_(static_cast<uint64_t>(
            std::max<int64_t>(0, absl::ToUnixMicros(now + kMaxClaimedLead)))) {}

  absl::Status Epoch(absl::string_view what, uint64_t number) const {
    return Check(what, number, max_epoch_);
  }
  absl::Status Token(absl::string_view what, uint64_t token) const {
    return Check(what, token, max_epoch_ << kTokenShift);
  }

 private:
  static absl::Status Check(absl::string_view what, uint64_t number, uint64_t max) {
    if (number <= max) return absl::OkStatus();
    return Malformed("the claim's ", what, " is ", number, "; expected at most ", max,
                     ", a hundred years ahead of the coordinator's clock");
  }

  const uint64_t max_epoch_;
};

absl::Status CheckRoster(const MemberIdentity& claimant, const Claim& claim, const Limits& limits) {
  const Roster& roster = *claim.roster;
  if (claim.rank >= roster.size()) {
    return Malformed("the claim's rank ", claim.rank, " is not in its roster, which has ",
                     roster.size(), " entries");
  }
  absl::Status s =
      AtMost("the members of the claim's roster are", roster.size(), limits.max_members,
             " (musterd --max-members raises it, as far as its ulimit -Hn goes)");
  if (!s.ok()) return s;
  absl::flat_hash_set<absl::string_view> seen;
  for (const RosterEntry& entry : roster) {
    if (s = CheckIdentity(entry.member, limits); !s.ok()) return s;
    s = CheckOptionalName("topology", entry.topology, limits.max_name_bytes);
    if (!s.ok()) return s;
    if (seen.insert(entry.member.incarnation).second) continue;
    return Malformed("the claim's roster names a member twice");
  }
  if (roster[claim.rank].member.incarnation == claimant.incarnation) return absl::OkStatus();
  return Malformed("the claim's roster has another process at rank ", claim.rank);
}

absl::Status CheckDigest(absl::string_view digest) {
  if (digest.size() == kGroupDigestBytes) return absl::OkStatus();
  return Malformed("a group's digest has ", digest.size(), " bytes; expected ", kGroupDigestBytes);
}

absl::Status CheckNextSequence(absl::string_view whose, uint64_t next) {
  if (next <= kMaxSequence) return absl::OkStatus();
  return Malformed(whose, " next sequence number is ", next, "; expected at most ", kMaxSequence);
}

absl::Status CheckKnownGroup(const KnownGroup& group) {
  absl::Status s = CheckDigest(group.digest);
  if (!s.ok()) return s;
  if (s = CheckText("the claim's end of a group", group.finished); !s.ok()) return s;
  if (group.closed && (group.next_sequence != 0 || !group.finished.empty())) {
    return Malformed("the claim has a closed group with a next sequence number or an end; ",
                     "expected neither");
  }
  return CheckNextSequence("the claim's", group.next_sequence);
}

// Does not limit the number of groups beyond the message's size: groups that were made before, here
// or elsewhere, can be claimed.
absl::Status CheckGroupClaims(const Claim& claim) {
  absl::Status s;
  for (const GroupClaim& group : claim.groups) {
    if (s = CheckText("the claim's end of a group", group.finished); !s.ok()) return s;
    if (s = CheckNextSequence("the claim's", group.next_sequence); !s.ok()) return s;
  }
  for (const KnownGroup& group : claim.known_groups) {
    if (s = CheckKnownGroup(group); !s.ok()) return s;
  }
  return s;
}

absl::Status CheckBroken(const BrokenClaim& broken, const Limits& limits) {
  absl::Status s = CheckText("the claim's reason", broken.reason);
  if (!s.ok()) return s;
  s = AtMost("the failures of the claim are", broken.failures.size(), limits.max_members, "");
  if (!s.ok()) return s;
  for (const FailureClaim& failure : broken.failures) {
    if (s = CheckIdentity(failure.member, limits); !s.ok()) return s;
    if (s = CheckText("the claim's cause of a failure", failure.cause); !s.ok()) return s;
    if (s = CheckText("the claim's activity of a lost member", failure.activity); !s.ok()) return s;
  }
  return s;
}

absl::Status CheckLeases(const Claim& claim, const Limits& limits, const NumberCheck& numbers) {
  // The number of leases is not limited, except by the message's size: the table takes as many as
  // it has room for.
  absl::Status s;
  for (const HeldLease& held : claim.held) {
    if (s = CheckLeaseName(held.name, limits); !s.ok()) return s;
    if (s = numbers.Token("lease token", held.token); !s.ok()) return s;
  }
  for (const CompletedLease& done : claim.completed) {
    if (s = CheckLeaseName(done.name, limits); !s.ok()) return s;
    if (s = numbers.Token("lease token", done.result.token); !s.ok()) return s;
    if (s = CheckLeaseResult(done.name, done.result, limits); !s.ok()) return s;
  }
  return s;
}

}  // namespace

absl::Status CheckIdentity(const MemberIdentity& member, const Limits& limits) {
  if (member.incarnation.size() != kIncarnationBytes) {
    return Malformed("incarnation has ", member.incarnation.size(), " bytes; expected ",
                     kIncarnationBytes);
  }
  absl::Status s = ValidateName("node_id", member.node_id, limits.max_name_bytes);
  return s.ok() ? CheckOptionalName("hostname", member.hostname, limits.max_name_bytes) : s;
}

absl::Status CheckText(absl::string_view what, absl::string_view text) {
  return CheckOptionalName(what, text, kMaxTextBytes);
}

absl::Status CheckFacts(const Facts& facts) {
  absl::Status s = AtMost("the facts of the fingerprint are", facts.size(), kMaxFacts, "");
  for (auto fact = facts.begin(); s.ok() && fact != facts.end(); ++fact) {
    s = ValidateName("name of a fact", fact->first, kMaxFactNameBytes);
    if (s.ok()) {
      s = CheckOptionalName(absl::StrCat("fact '", fact->first, "'"), fact->second,
                            kMaxFactValueBytes);
    }
  }
  return s;
}

absl::Status CheckOptionalName(absl::string_view what, absl::string_view name, size_t max_bytes) {
  if (name.empty()) return absl::OkStatus();
  return ValidateName(what, name, static_cast<uint32_t>(max_bytes));
}

absl::Status CheckSequence(uint64_t sequence) {
  if (HasSuccessor(sequence)) return absl::OkStatus();
  return Malformed("sequence number ", sequence, " is too large; expected less than ",
                   kMaxSequence);
}

absl::Status CheckNodeParts(size_t parts) {
  if (parts == 0) {
    return Malformed("a NodeCollective has no parts; expected the sender's part at least");
  }
  return AtMost("the parts of the NodeCollective are", parts, kMaxNodeParts,
                "; send several, or single calls");
}

absl::Status CheckGroup(const GroupName& group, uint32_t caller_rank, uint32_t size,
                        const Limits& limits) {
  if (group.name.empty() && group.ranks.empty()) return absl::OkStatus();
  if (group.name.empty()) {
    return Malformed(
        "the group has ranks but no name; give it a name, or leave out the ranks to call the "
        "world");
  }
  absl::Status s = ValidateName("group name", group.name, limits.max_name_bytes);
  if (!s.ok()) return s;
  if (group.ranks.empty()) {
    return Malformed("the coordinator knows no group '", group.name, "' that rank ", caller_rank,
                     " is in; the first call of a group names its ranks");
  }
  std::vector<bool> seen(size);
  for (uint32_t rank : group.ranks) {
    if (rank >= size) {
      return Malformed("group '", group.name, "' names rank ", rank, "; the job's ranks are 0-",
                       size - 1);
    }
    if (seen[rank]) return Malformed("group '", group.name, "' names rank ", rank, " twice");
    seen[rank] = true;
  }
  if (seen[caller_rank]) return absl::OkStatus();
  std::vector<uint32_t> sorted = group.ranks;
  std::sort(sorted.begin(), sorted.end());
  return Malformed("rank ", caller_rank, " is not in group '", group.name, "' (", Ranks(sorted),
                   ") and cannot call it");
}

absl::Status CheckCommits(const CommitReport& report, const Limits& limits) {
  const uint32_t max = limits.max_name_bytes;
  size_t commits = 0;
  absl::Status s;
  for (const CommitReport::Group& group : report.groups) {
    commits += group.commits.size();
    if (s = CheckOptionalName("group name", group.name.name, max); !s.ok()) return s;
    for (const CommitReport::Commit& commit : group.commits) {
      if (s = CheckOptionalName("label", commit.label, max); !s.ok()) return s;
      if (s = CheckOptionalName("type name", commit.type_name, max); !s.ok()) return s;
      if (s = CheckSequence(commit.sequence); !s.ok()) return s;
    }
  }
  const size_t amount = std::max(commits, report.groups.size());
  return AtMost("the commits of the ReportCommits are", amount, kMaxCommits, "; send several");
}

absl::Status CheckRelease(const ReleaseRequest& request) {
  absl::Status s =
      AtMost("the groups of the ReleaseGroups are", request.released.size() + request.closed.size(),
             kMaxReleases, "; send several");
  if (!s.ok()) return s;
  for (const ReleaseRequest::Released& group : request.released) {
    if (s = CheckDigest(group.digest); !s.ok()) return s;
    if (s = CheckNextSequence("the ReleaseGroups'", group.next_sequence); !s.ok()) return s;
  }
  for (const std::string& digest : request.closed) {
    if (s = CheckDigest(digest); !s.ok()) return s;
  }
  return s;
}

absl::Status CheckLeaseName(absl::string_view name, const Limits& limits) {
  const absl::Status status = ValidateName("its name", name, limits.max_name_bytes);
  if (status.ok()) return status;
  const absl::string_view shown = name.substr(0, limits.max_name_bytes);
  return Malformed("lease '", absl::CHexEscape(shown), shown.size() < name.size() ? "..." : "",
                   "': ", status.message());
}

absl::Status CheckLeaseResult(absl::string_view name, const LeaseResult& result,
                              const Limits& limits) {
  return AtMost(absl::StrCat("the bytes in the result of lease '", name, "' are"),
                HeldBytes(result), limits.max_payload_bytes,
                "; publish the place of the data instead of the data (musterd --max-payload-bytes "
                "raises the limit)");
}

absl::Status CheckClaim(const MemberIdentity& claimant, const Claim& claim, const Limits& limits,
                        Time now) {
  const NumberCheck numbers(now);
  absl::Status s = numbers.Token("highest token", claim.highest_token);
  if (!s.ok()) return s;
  if (s = numbers.Epoch("highest epoch number", claim.highest_epoch); !s.ok()) return s;
  if (s = CheckLeases(claim, limits, numbers); !s.ok()) {
    const auto rank = claim.epoch ? std::optional<uint32_t>(claim.rank) : std::nullopt;
    return absl::Status(
        s.code(), absl::StrCat("the claim of ", DescribeMember(rank, claimant, NodeNames()), ": ",
                               s.message()));
  }
  if (claim.broken) {
    if (s = CheckBroken(*claim.broken, limits); !s.ok()) return s;
  }
  if (!claim.epoch) return s;
  if (s = numbers.Epoch("epoch number", claim.epoch->number); !s.ok()) return s;
  if (s = CheckGroupClaims(claim); !s.ok() || !claim.roster) return s;
  if (s = CheckRoster(claimant, claim, limits); !s.ok()) return s;
  return CheckClaimedGroups(claim, static_cast<uint32_t>(claim.roster->size()), limits);
}

absl::Status CheckClaimedGroups(const Claim& claim, uint32_t size, const Limits& limits) {
  absl::Status s;
  for (const GroupClaim& group : claim.groups) {
    if (s = CheckGroup(group.group, claim.rank, size, limits); !s.ok()) return s;
  }
  return s;
}

}  // namespace muster::core
