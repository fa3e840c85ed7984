#ifndef MUSTER_SERVER_CORE_JOB_CLAIMED_GROUPS_H_
#define MUSTER_SERVER_CORE_JOB_CLAIMED_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/core/api/claim.h"

namespace muster::core {

// The members' claims of groups by digest, until a call names the group's ranks. A restarted
// coordinator cannot compute them from the digest.
class ClaimedGroups {
 public:
  struct Claim {
    KnownGroup group;
    uint64_t attempt = 0;  // the attempt of the Attach, or of a later ReleaseGroups
  };
  using ByRank = std::map<uint32_t, Claim>;

  bool empty() const { return groups_.empty(); }
  const absl::flat_hash_map<std::string, ByRank>& all() const { return groups_; }

  // Keeps the rank's claim in place of its earlier one.
  void Note(uint32_t rank, Claim claim);
  // Returns null if no member claims a group of that digest.
  const ByRank* Find(const std::string& digest) const;
  // Removes and returns the claims of that digest.
  ByRank Take(const std::string& digest);
  std::vector<std::string> Digests() const;

 private:
  absl::flat_hash_map<std::string, ByRank> groups_;
};

// Returns whether a claimant knows that the group is closed. One is enough: then it is closed.
bool AnyKnowsClosed(const ClaimedGroups::ByRank& claims);
// Returns whether all claimants have released the group after the same collective.
bool AllReleased(const ClaimedGroups::ByRank& claims);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_CLAIMED_GROUPS_H_
