#ifndef MUSTER_SERVER_CORE_GROUP_RANK_RELEASES_H_
#define MUSTER_SERVER_CORE_GROUP_RANK_RELEASES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::core {

// The releases of a group: which ranks' programs have released it, and which still hold it. The
// highest attempt of a rank decides. Ranks are named by their index in the group.
class RankReleases {
 public:
  explicit RankReleases(size_t size) : releases_(size) {}

  // Notes what a rank says. Returns false, and changes nothing, if the rank has spoken under a
  // higher attempt, or may have said this about an earlier group of the same ranks.
  bool Note(uint32_t index, bool released, uint64_t attempt);

  // Sets the attempt below which sends of the rank may belong to an earlier group of the same
  // ranks.
  void SetFirstAttempt(uint32_t index, uint64_t attempt) { releases_[index].first = attempt; }
  bool IsStale(uint32_t index, uint64_t attempt) const { return attempt < releases_[index].first; }

  // Returns whether the rank has said anything.
  bool IsHeard(uint32_t index) const { return releases_[index].heard; }
  bool IsReleasedBy(uint32_t index) const { return releases_[index].released; }
  // Return how many ranks have said anything, and how many of these have released the group.
  size_t heard() const { return heard_; }
  size_t released() const { return released_; }

 private:
  struct Entry {
    uint64_t attempt = 0;  // under which the rank spoke last
    uint64_t first = 0;    // see SetFirstAttempt()
    bool heard = false;
    bool released = false;
  };

  std::vector<Entry> releases_;
  size_t heard_ = 0;
  size_t released_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_RANK_RELEASES_H_
