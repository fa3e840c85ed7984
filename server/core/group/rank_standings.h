#ifndef MUSTER_SERVER_CORE_GROUP_RANK_STANDINGS_H_
#define MUSTER_SERVER_CORE_GROUP_RANK_STANDINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::core {

// The standing of each rank of a group: whether its program still holds the group, or has released
// it. The highest attempt of a rank decides. Ranks are named by their index in the group.
class RankStandings {
 public:
  explicit RankStandings(size_t size) : standings_(size) {}

  // Notes what a rank says. Returns false, and changes nothing, if the rank has spoken under a
  // higher attempt, or may have said this about an earlier group of the same ranks.
  bool Say(uint32_t index, bool released, uint64_t attempt);

  // Sets the attempt below which sends of the rank may belong to an earlier group of the same
  // ranks.
  void SetFirstAttempt(uint32_t index, uint64_t attempt) { standings_[index].first = attempt; }
  bool IsStale(uint32_t index, uint64_t attempt) const { return attempt < standings_[index].first; }

  // Returns whether the rank has said anything.
  bool IsHeard(uint32_t index) const { return standings_[index].heard; }
  bool IsReleasedBy(uint32_t index) const { return standings_[index].released; }
  // Return how many ranks have said anything, and how many of these have released the group.
  size_t heard() const { return heard_; }
  size_t released() const { return released_; }

 private:
  struct Standing {
    uint64_t attempt = 0;  // under which the rank spoke last
    uint64_t first = 0;    // see SetFirstAttempt()
    bool heard = false;
    bool released = false;
  };

  std::vector<Standing> standings_;
  size_t heard_ = 0;
  size_t released_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_RANK_STANDINGS_H_
