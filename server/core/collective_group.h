#ifndef MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_
#define MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/byte_budget.h"
#include "server/core/types.h"

namespace muster::core {

// One group's sequence of collectives: who has arrived at the current one, and the answers of the
// last.
//
// Arrivals are a set of ranks, never a count; a collective completes when every rank of the group
// is parked in it. What a rank called at a sequence number is fixed by its first send, withdrawn or
// not.
class CollectiveGroup {
 public:
  // A waiter that is done, and how.
  struct Finished {
    WaiterId waiter = 0;
    absl::Status status;
    CollectiveAnswer answer;
  };
  // Empty: the arrival is parked, or nothing changed.
  using Step = std::vector<Finished>;

  // `ranks` are the world's, in the group's order. `budget` must outlive the group.
  CollectiveGroup(std::string name, std::vector<uint32_t> ranks, ByteBudget* budget);
  ~CollectiveGroup();
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;

  const std::string& name() const { return name_; }
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

  // Ends every parked call with this error. The sequence number is not consumed.
  Step FailParked(const absl::Status& status);

  // Ranks of the world that have not arrived at the current collective, and that have, sorted.
  std::vector<uint32_t> Missing() const;
  std::vector<uint32_t> Arrived() const;
  bool pending() const { return parked_ > 0; }
  Time first_arrival() const { return first_arrival_; }
  uint64_t sequence() const { return sequence_; }
  // "Barrier('x') op 3 of the world", of what `index` called at the current sequence number.
  std::string OperationOf(uint32_t index) const;
  // The same of whoever is parked.
  std::string PendingOperation() const;
  // Why no collective of this group can succeed any more; empty: it can.
  const std::string& finished_text() const { return finished_; }

 private:
  // What one rank called at the current sequence number.
  struct Slot {
    bool sent = false;    // the content is fixed
    WaiterId waiter = 0;  // parked, if not 0
    uint64_t attempt = 0;
    CollectiveKind kind = CollectiveKind::kBarrier;
    uint32_t root = 0;
    std::string label;
    std::string type_name;
    Bytes payload;
  };

  Step Replay(uint32_t index, WaiterId waiter, const CollectiveRequest& request) const;
  Step Mismatch();
  Step Complete();
  absl::Status CheckRepeat(const Slot& slot, const CollectiveRequest& request) const;
  void Record(Slot& slot, WaiterId waiter, const CollectiveRequest& request);
  std::string Disagreement() const;
  static bool SameCall(const Slot& a, const Slot& b);
  static std::string Words(const Slot& slot);

  const std::string name_;
  const std::vector<uint32_t> ranks_;
  ByteBudget* const budget_;

  uint64_t sequence_ = 0;           // of the current collective
  std::vector<Slot> slots_;         // of the current collective, one per rank
  std::optional<uint32_t> sample_;  // a slot that was sent
  size_t parked_ = 0;
  uint64_t slot_bytes_ = 0;
  Time first_arrival_;
  std::string finished_;

  // Of the last completed collective, kept until the next one completes: a retry gets it again.
  CollectiveKind last_kind_ = CollectiveKind::kBarrier;
  uint32_t last_root_ = 0;
  std::shared_ptr<const std::vector<Bytes>> last_payloads_;
  uint64_t last_bytes_ = 0;
  std::vector<uint64_t> last_attempts_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_
