#include "server/core/group/rank_releases.h"

namespace muster::core {

bool RankReleases::Note(uint32_t index, bool released, uint64_t attempt) {
  Entry& entry = releases_[index];
  if (attempt < entry.attempt || attempt < entry.first) return false;
  heard_ += !entry.heard;
  released_ += size_t{released} - size_t{entry.released};
  entry.attempt = attempt;
  entry.heard = true;
  entry.released = released;
  return true;
}

}  // namespace muster::core
