#ifndef MUSTER_SERVER_CORE_CLAIMED_GROUPS_H_
#define MUSTER_SERVER_CORE_CLAIMED_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/core/claim.h"

namespace muster::core {

// What members claim of groups by digest, until a call names the group's ranks. A restarted
// coordinator cannot know them: a digest does not say what it is made of.
class ClaimedGroups {
 public:
  struct Claim {
    KnownGroup group;
    uint64_t attempt = 0;  // of the Attach, or of the ReleaseGroups that came after it
  };
  using ByRank = std::map<uint32_t, Claim>;

  bool empty() const { return groups_.empty(); }
  const absl::flat_hash_map<std::string, ByRank>& all() const { return groups_; }

  // The latest claim of a rank counts.
  void Note(uint32_t rank, Claim claim);
  // Null if nobody claims a group of that digest.
  const ByRank* Find(const std::string& digest) const;
  // Takes the claims out.
  ByRank Take(const std::string& digest);
  std::vector<std::string> Digests() const;

 private:
  absl::flat_hash_map<std::string, ByRank> groups_;
};

// Somebody knows that the group is closed: so it is.
bool AnyKnowsClosed(const ClaimedGroups::ByRank& claims);
// All claimants have let the group go after the same collective.
bool AllReleased(const ClaimedGroups::ByRank& claims);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_CLAIMED_GROUPS_H_
