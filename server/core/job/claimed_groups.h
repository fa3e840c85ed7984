#ifndef MUSTER_SERVER_CORE_JOB_CLAIMED_GROUPS_H_
#define MUSTER_SERVER_CORE_JOB_CLAIMED_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/core/api/claim.h"
#include "server/core/support/byte_budget.h"

namespace muster::core {

// The members' claims of groups by digest, until a call names the group's ranks. A restarted
// coordinator cannot compute them from the digest.
//
// A rank's claims are those of its latest Attach, so a rank that attaches again and again takes no
// more memory. They count against --max-held-bytes, because each may hold a text.
class ClaimedGroups {
 public:
  // The budget must outlive this object.
  explicit ClaimedGroups(ByteBudget* budget) : charge_(budget) {}

  struct Claim {
    KnownGroup group;
    uint64_t attempt = 0;  // the attempt of the Attach, or of a later ReleaseGroups
  };
  using ByRank = std::map<uint32_t, Claim>;

  bool empty() const { return groups_.empty(); }
  const absl::flat_hash_map<std::string, ByRank>& all() const { return groups_; }

  // Returns whether --max-held-bytes has room for the claim.
  bool HasRoomFor(const KnownGroup& group) const;
  // Keeps the rank's claim in place of its earlier one, whatever the limit says.
  void Note(uint32_t rank, Claim claim);
  // Removes the rank's claims, and returns their digests.
  std::vector<std::string> Forget(uint32_t rank);
  // Returns null if no member claims a group of that digest.
  const ByRank* Find(const std::string& digest) const;
  // Removes and returns the claims of that digest.
  ByRank Take(const std::string& digest);
  std::vector<std::string> Digests() const;

 private:
  absl::flat_hash_map<std::string, ByRank> groups_;
  absl::flat_hash_map<uint32_t, std::set<std::string>> digests_;  // of each rank's claims
  ByteCharge charge_;
};

// Returns whether a claimant knows that the group is closed. One is enough: then it is closed.
bool AnyKnowsClosed(const ClaimedGroups::ByRank& claims);
// Returns whether all claimants have released the group after the same collective.
bool AllReleased(const ClaimedGroups::ByRank& claims);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_CLAIMED_GROUPS_H_
