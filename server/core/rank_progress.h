#ifndef MUSTER_SERVER_CORE_RANK_PROGRESS_H_
#define MUSTER_SERVER_CORE_RANK_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace muster::core {

// How far each rank of a group is known to be in the group's sequence of collectives. A restarted
// coordinator learns it from claims and arrivals, which may contradict each other. Ranks are named
// by their index in the group.
class RankProgress {
 public:
  // The rank `ahead` says that it has completed the collective `completed`, but the rank `behind`
  // is only at `at`. Where both are the same rank, it is the coordinator that is only at `at`.
  struct Contradiction {
    uint32_t ahead = 0;
    uint64_t completed = 0;
    uint32_t behind = 0;
    uint64_t at = 0;
  };

  // `recovered`: what a rank first says can be ahead of the coordinator.
  RankProgress(size_t size, bool recovered);

  // The rank says that it has completed every collective below `next`, so these have completed.
  // `current` is the group's sequence number. Unless a contradiction comes back, the group has to
  // move on to `next` if that is higher.
  std::optional<Contradiction> Observe(uint32_t index, uint64_t next, uint64_t current);
  // The rank is parked in the collective at `sequence`, the current one.
  void NoteParked(uint32_t index, uint64_t sequence) { next_[index] = sequence; }

  // Whether the rank has said where it is.
  bool IsKnown(uint32_t index) const { return first_said_[index].has_value(); }
  // Whether the rank is known to have this collective's result.
  bool HasCompleted(uint32_t index, uint64_t sequence) const { return next_[index] > sequence; }
  // Whether the rank is known to have completed every collective below `sequence`.
  bool HasReached(uint32_t index, uint64_t sequence) const { return next_[index] >= sequence; }
  // Whether the next collective of every rank is this one, as far as is known.
  bool AreAllAt(uint64_t sequence) const;
  // Whether there was a contradiction, so that not even past collectives are what they seem.
  bool contradicted() const { return contradicted_; }

 private:
  std::optional<Contradiction> Judge(uint32_t index, uint64_t next, uint64_t current);
  std::optional<Contradiction> FindAhead(uint32_t index, uint64_t next, uint64_t current) const;
  std::optional<Contradiction> FindBehind(uint32_t index, uint64_t next) const;

  std::vector<uint64_t> next_;  // what each rank has completed, as far as is known
  // What each rank has said first, to this coordinator, of the number of its next collective.
  std::vector<std::optional<uint64_t>> first_said_;
  bool contradicted_ = false;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_RANK_PROGRESS_H_
