#ifndef MUSTER_SERVER_CORE_GROUP_TABLE_H_
#define MUSTER_SERVER_CORE_GROUP_TABLE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/core/collective_group.h"

namespace muster::core {

// The groups of one epoch. Those of one name share no rank.
class GroupTable {
 public:
  using Groups = std::map<GroupName, std::unique_ptr<CollectiveGroup>>;

  size_t size() const { return groups_.size(); }
  // How many ranks all but the world have, together.
  size_t named_ranks() const { return named_ranks_; }
  Groups::const_iterator begin() const { return groups_.begin(); }
  Groups::const_iterator end() const { return groups_.end(); }

  // Null where nobody has called a collective of it yet.
  CollectiveGroup* World() const { return world_; }
  // The group that is called so and that the rank is in; null if there is none. A name without
  // ranks stands for whatever the ranks are: name and rank tell a group from all others. Every
  // arrival asks: a look-up by name and rank and, where the ranks are named, one comparison of the
  // lists.
  CollectiveGroup* Find(const GroupName& name, uint32_t rank) const;
  // The group of that digest; null if there is none.
  CollectiveGroup* FindDigest(const std::string& digest) const;
  // A group of that name, not the world's, which shares a rank with it; null if there is none.
  const CollectiveGroup* Overlapping(const GroupName& name) const;
  // None that is there may overlap.
  CollectiveGroup* Add(std::unique_ptr<CollectiveGroup> group);
  // Not the world. Nothing may refer to the group any more.
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

#endif  // MUSTER_SERVER_CORE_GROUP_TABLE_H_
