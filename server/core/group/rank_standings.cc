#include "server/core/group/rank_standings.h"

namespace muster::core {

bool RankStandings::Say(uint32_t index, bool released, uint64_t attempt) {
  Standing& standing = standings_[index];
  if (attempt < standing.attempt || attempt < standing.first) return false;
  heard_ += !standing.heard;
  released_ += size_t{released} - size_t{standing.released};
  standing.attempt = attempt;
  standing.heard = true;
  standing.released = released;
  return true;
}

}  // namespace muster::core
