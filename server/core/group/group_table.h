#ifndef MUSTER_SERVER_CORE_GROUP_GROUP_TABLE_H_
#define MUSTER_SERVER_CORE_GROUP_GROUP_TABLE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/core/group/collective_group.h"

namespace muster::core {

// The groups of one epoch. Groups of one name share no rank.
class GroupTable {
 public:
  using Groups = std::map<GroupName, std::unique_ptr<CollectiveGroup>>;

  size_t size() const { return groups_.size(); }
  // Returns the sum of the numbers of ranks of all groups but the world.
  size_t named_ranks() const { return named_ranks_; }
  Groups::const_iterator begin() const { return groups_.begin(); }
  Groups::const_iterator end() const { return groups_.end(); }

  // Returns null if no rank has called a collective of the world yet.
  CollectiveGroup* World() const { return world_; }
  // Returns the group of that name that the rank is in, or null. If `name` lists ranks, the group
  // must have the same list. A name without ranks stands for any list, because name and rank
  // identify a group. Runs at each arrival: costs one look-up, and one comparison of the lists if
  // ranks are given.
  CollectiveGroup* Find(const GroupName& name, uint32_t rank) const;
  // Returns the group of that digest, or null.
  CollectiveGroup* FindDigest(const std::string& digest) const;
  // Returns a group other than the world that has this name and shares a rank with it, or null.
  const CollectiveGroup* Overlapping(const GroupName& name) const;
  // Adds a group, which must not overlap another one of its name.
  CollectiveGroup* Add(std::unique_ptr<CollectiveGroup> group);
  // Removes a group other than the world. Nothing may refer to it any more.
  void Remove(const CollectiveGroup* group);

 private:
  using ByRank = absl::flat_hash_map<uint32_t, CollectiveGroup*>;

  Groups groups_;
  size_t named_ranks_ = 0;
  CollectiveGroup* world_ = nullptr;
  absl::flat_hash_map<std::string, ByRank> by_name_;
  absl::flat_hash_map<std::string, CollectiveGroup*> by_digest_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_GROUP_TABLE_H_
