#ifndef MUSTER_SERVER_CORE_RANK_STANDINGS_H_
#define MUSTER_SERVER_CORE_RANK_STANDINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace muster::core {

// What the ranks of a group have said of their need of it: whether their programs still hold the
// group, or have released it. The highest attempt of a rank decides. Ranks are named by their index
// in the group.
class RankStandings {
 public:
  explicit RankStandings(size_t size) : standings_(size) {}

  // Returns false, and changes nothing, if the rank has said something since, or may have said this
  // of an earlier group of the same ranks.
  bool Say(uint32_t index, bool released, uint64_t attempt);

  // What the rank has sent under lower attempts may be of an earlier group of the same ranks.
  void SetFirstAttempt(uint32_t index, uint64_t attempt) { standings_[index].first = attempt; }
  bool IsStale(uint32_t index, uint64_t attempt) const { return attempt < standings_[index].first; }

  // Whether the rank has said anything.
  bool IsHeard(uint32_t index) const { return standings_[index].heard; }
  bool IsReleasedBy(uint32_t index) const { return standings_[index].released; }
  // How many ranks have said anything, and how many of them have released the group.
  size_t heard() const { return heard_; }
  size_t released() const { return released_; }

 private:
  struct Standing {
    uint64_t attempt = 0;  // under which the rank has spoken
    uint64_t first = 0;    // see SetFirstAttempt()
    bool heard = false;
    bool released = false;
  };

  std::vector<Standing> standings_;
  size_t heard_ = 0;
  size_t released_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_RANK_STANDINGS_H_
