#include "server/core/group/rank_progress.h"

#include <algorithm>

namespace muster::core {

RankProgress::RankProgress(size_t size, bool recovered)
    : next_(size),
      first_reported_(size, recovered ? std::nullopt : std::make_optional<uint64_t>(0)),
      trusted_(size) {}

std::optional<RankProgress::Contradiction> RankProgress::Observe(uint32_t index, uint64_t next,
                                                                 uint64_t current) {
  std::optional<Contradiction> contradiction;
  if (trusted_[index]) {
    // Its word may be old: a send that it gave up may arrive after the collectives that followed.
    if (!IsKnown(index)) first_reported_[index] = next;
  } else if (!IsKnown(index) || next > current) {
    contradiction = Judge(index, next, current);
  }
  contradicted_ |= contradiction.has_value();
  if (!contradicted_) next_[index] = std::max(next_[index], next);
  return contradiction;
}

// Judges what a rank says first of its progress, or says of collectives ahead of the group. Another
// coordinator completed those before any rank spoke to this one. So when the ranks first spoke
// here, all of them had arrived there, and had completed everything before it.
std::optional<RankProgress::Contradiction> RankProgress::Judge(uint32_t index, uint64_t next,
                                                               uint64_t current) {
  const bool is_first = !IsKnown(index);
  if (is_first) first_reported_[index] = next;
  if (next <= current) return FindAhead(index, next, current);
  if (!is_first) return Contradiction{index, next - 1, index, current};
  return FindBehind(index, next);
}

std::optional<RankProgress::Contradiction> RankProgress::FindAhead(uint32_t index, uint64_t next,
                                                                   uint64_t current) const {
  // After a contradiction, no rank is known to be ahead.
  if (current - next <= 1 || contradicted_) return std::nullopt;
  const auto ahead =
      std::find_if(next_.begin(), next_.end(), [next](uint64_t other) { return other > next + 1; });
  return Contradiction{static_cast<uint32_t>(ahead - next_.begin()), *ahead - 1, index, next};
}

std::optional<RankProgress::Contradiction> RankProgress::FindBehind(uint32_t index,
                                                                    uint64_t next) const {
  const auto behind = std::find_if(
      first_reported_.begin(), first_reported_.end(),
      [next](const std::optional<uint64_t>& reported) { return reported && *reported + 1 < next; });
  if (behind == first_reported_.end()) return std::nullopt;
  return Contradiction{index, next - 1, static_cast<uint32_t>(behind - first_reported_.begin()),
                       **behind};
}

bool RankProgress::AreAllAt(uint64_t sequence) const {
  return std::all_of(next_.begin(), next_.end(),
                     [sequence](uint64_t next) { return next == sequence; });
}

}  // namespace muster::core
