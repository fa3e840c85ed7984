#ifndef MUSTER_SERVER_CORE_GROUP_RANK_PROGRESS_H_
#define MUSTER_SERVER_CORE_GROUP_RANK_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace muster::core {

// The progress of each rank in a group's sequence of collectives, as far as it is known. A
// restarted coordinator learns it from claims and arrivals, which may contradict each other. Ranks
// are named by their index in the group.
class RankProgress {
 public:
  // A contradiction: the rank `ahead` says that it has completed the collective `completed`, but
  // the rank `behind` is only at `at`. If both are the same rank, the coordinator is only at `at`.
  struct Contradiction {
    uint32_t ahead = 0;
    uint64_t completed = 0;
    uint32_t behind = 0;
    uint64_t at = 0;
  };

  // `recovered` means that the first word of a rank may be ahead of the coordinator.
  RankProgress(size_t size, bool recovered);

  // From now on, believes what this rank says of its progress whenever it says so. Its node may
  // complete collectives without this coordinator (docs/node-fan-in.md, R18).
  void Trust(uint32_t index) { trusted_[index] = true; }
  bool IsTrusted(uint32_t index) const { return trusted_[index]; }

  // Notes that the rank says that it has completed every collective below `next`, so these have
  // completed. `current` is the group's sequence number. Unless a contradiction is returned, the
  // group must move on to `next` if that is higher.
  std::optional<Contradiction> Observe(uint32_t index, uint64_t next, uint64_t current);
  // Notes that the rank is parked in the collective at `sequence`, the current one.
  void NoteParked(uint32_t index, uint64_t sequence) { next_[index] = sequence; }

  // Returns whether the rank has said where it is.
  bool IsKnown(uint32_t index) const { return first_reported_[index].has_value(); }
  // Returns whether the rank is known to have this collective's result.
  bool HasCompleted(uint32_t index, uint64_t sequence) const { return next_[index] > sequence; }
  // Returns whether the rank is known to have completed every collective below `sequence`.
  bool HasReached(uint32_t index, uint64_t sequence) const { return next_[index] >= sequence; }
  // Returns whether this is the next collective of every rank, as far as is known.
  bool AreAllAt(uint64_t sequence) const;
  // Returns whether there was a contradiction. Then even past collectives are not certain.
  bool contradicted() const { return contradicted_; }

 private:
  std::optional<Contradiction> Judge(uint32_t index, uint64_t next, uint64_t current);
  std::optional<Contradiction> FindAhead(uint32_t index, uint64_t next, uint64_t current) const;
  std::optional<Contradiction> FindBehind(uint32_t index, uint64_t next) const;

  std::vector<uint64_t> next_;  // the next collective of each rank, as far as is known
  // The next collective that each rank named when it first spoke to this coordinator.
  std::vector<std::optional<uint64_t>> first_reported_;
  std::vector<bool> trusted_;
  bool contradicted_ = false;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_RANK_PROGRESS_H_
