#ifndef MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_
#define MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/arrival.h"
#include "server/core/byte_budget.h"
#include "server/core/past_collective.h"
#include "server/core/stall_clock.h"
#include "server/core/types.h"

namespace muster::core {

// One group's sequence of collectives: who has arrived at the current one, and the last completed
// one for those whose answer was lost.
//
// Arrivals are a set of ranks, never a count; a collective completes when every rank of the group
// is parked in it, or when a rank proves, after a restart of the coordinator, that it once did.
// What a rank called at a sequence number is fixed by its first send, withdrawn or not.
class CollectiveGroup {
 public:
  using Finished = FinishedCall;
  // Empty: the arrival is parked, or nothing changed.
  using Step = std::vector<FinishedCall>;

  // `ranks` are the world's, in the group's order. `budget` must outlive the group. `recovered`:
  // the group may be older than this coordinator, so that an arrival can be ahead of it.
  CollectiveGroup(GroupName name, std::vector<uint32_t> ranks, bool recovered, ByteBudget* budget);
  ~CollectiveGroup();
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;

  const GroupName& name() const { return name_; }
  const std::vector<uint32_t>& ranks() const { return ranks_; }
  // "the world", "group 'tp' (ranks 0,2)".
  std::string words() const;
  std::optional<uint32_t> IndexOf(uint32_t rank) const;
  bool Shares(const std::vector<uint32_t>& ranks) const;

  // A rank arrives. `request` must be valid for the group (root in range, payload within its
  // limit). Parks it, or finishes: it alone (refused, or answered from the last result), or all
  // that are parked.
  Step Arrive(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request);

  // The waiter no longer waits: its arrival does not count any more. Unknown waiters are ignored.
  void Withdraw(uint32_t index, WaiterId waiter);

  // Ends every call that is parked in the current collective with this error. The sequence number
  // is not consumed.
  Step FailParked(const absl::Status& status);

  // A rank has completed every collective below `next`, so these have completed.
  Step Observe(uint32_t index, uint64_t next);
  // No collective of this group can succeed any more. The first text counts.
  Step FinishForGood(const std::string& text);

  // From the next completion on, answers say that a stop was requested; or they have said so since
  // that sequence number.
  void AskStop() { stop_asked_ = true; }
  void ObserveStop(uint64_t sequence) { stop_sequence_ = sequence; }

  // The rank is known to have this collective's result.
  bool HasCompleted(uint32_t index, uint64_t sequence) const { return next_[index] > sequence; }
  // Members that have completed the last collective and whose contributions to it others wait for.
  std::vector<uint32_t> NeededContributors() const;

  // Ranks of the world that have not arrived at this collective, and that have, sorted. Of the last
  // completed one: whose contributions are missing.
  std::vector<uint32_t> Missing(uint64_t sequence) const;
  std::vector<uint32_t> Arrived() const;
  bool pending() const { return parked_ > 0; }
  Time first_arrival() const { return first_arrival_; }
  Time last_arrival() const { return last_arrival_; }
  StallClock* stall() { return &stall_; }
  uint64_t sequence() const { return sequence_; }
  // "Barrier('x') op 3 of the world", of what `index` called at that sequence number.
  std::string OperationAt(uint32_t index, uint64_t sequence) const;
  // "Barrier('x')" of whoever is parked.
  std::string PendingOperation() const;
  // Why no collective of this group can succeed any more; empty: it can.
  const std::string& finished_text() const { return finished_; }
  // Whether it has finished for good since this was last asked.
  bool TakeFinishedNews() { return std::exchange(finished_news_, false); }

 private:
  Step ArriveAtCurrent(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  Step ArriveAtPast(uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  absl::Status CheckCurrent(uint32_t index, const CollectiveRequest& request) const;
  Step Mismatch();
  Step Complete();
  // Every collective below `next` has completed; the last of them becomes the past one.
  Step MoveOn(uint64_t next);
  // Marks the answers of the collective before the current one.
  void MarkStop(Step* step) const;
  std::string Disagreement() const;

  const GroupName name_;
  const std::vector<uint32_t> ranks_;
  const bool recovered_;
  ByteBudget* const budget_;

  uint64_t sequence_ = 0;           // of the current collective
  std::vector<Arrival> arrivals_;   // at the current collective, one per rank
  std::optional<uint32_t> sample_;  // an arrival that was sent
  size_t parked_ = 0;
  uint64_t bytes_ = 0;
  Time first_arrival_;
  Time last_arrival_;
  StallClock stall_;
  std::string finished_;
  bool finished_news_ = false;

  PastCollective past_;         // the one before the current one
  std::vector<uint64_t> next_;  // what each rank has completed, as far as is known

  bool stop_asked_ = false;
  std::optional<uint64_t> stop_sequence_;  // the first whose answers carry the stop
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_
