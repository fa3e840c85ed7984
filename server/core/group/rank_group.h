#ifndef MUSTER_SERVER_CORE_GROUP_RANK_GROUP_H_
#define MUSTER_SERVER_CORE_GROUP_RANK_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/basic_types.h"

namespace muster::core {

// A named, ordered list of ranks. It never changes.
class RankGroup {
 public:
  // `ranks` are ranks of the world, in the group's order.
  RankGroup(GroupName name, std::vector<uint32_t> ranks);

  const GroupName& name() const { return name_; }
  const std::vector<uint32_t>& ranks() const { return ranks_; }
  size_t size() const { return ranks_.size(); }
  // Returns the digest of the name and the ranks, or an empty text for the world.
  const std::string& digest() const { return digest_; }
  // Returns "the world" or text such as "group 'tp' (ranks 0,2)".
  const std::string& description() const { return description_; }

  // Returns the index of the rank in the group, or nullopt if it is not a member.
  std::optional<uint32_t> IndexOf(uint32_t rank) const;
  // Returns pairs of a rank and its index, sorted by rank.
  const std::vector<std::pair<uint32_t, uint32_t>>& by_rank() const { return by_rank_; }

 private:
  const GroupName name_;
  const std::vector<uint32_t> ranks_;
  const std::string description_;
  const std::string digest_;
  const std::vector<std::pair<uint32_t, uint32_t>> by_rank_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_RANK_GROUP_H_
