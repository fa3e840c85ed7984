#ifndef MUSTER_SERVER_CORE_GROUP_CURRENT_COLLECTIVE_H_
#define MUSTER_SERVER_CORE_GROUP_CURRENT_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/group/arrival.h"
#include "server/core/group/finished_call.h"
#include "server/core/group/past_collective.h"
#include "server/core/group/rank_group.h"
#include "server/core/statistics/lateness.h"
#include "server/core/support/byte_budget.h"
#include "server/core/support/stall_clock.h"

namespace muster::core {

// The ranks of the world that a collective waits for, sorted.
struct Absentees {
  std::vector<uint32_t> missing;  // have not come
  std::vector<uint32_t> gave_up;  // had come, and have stopped waiting
};

// The properties that all collectives of one group share.
struct GroupContext {
  RankGroup group;
  bool recovered = false;  // the group may be older than this coordinator
  uint64_t max_answer_bytes = 0;
  ByteBudget* budget = nullptr;
  LatenessStats* lateness = nullptr;  // learns of each collective that completes here
};

// The collective at a group's current sequence number: which ranks have arrived, and with what.
//
// Arrivals are a set of ranks, never a count. The first send of a rank fixes the content of its
// call, even if it is withdrawn.
//
// If the answer would be too large, the collective is refused to all ranks with OUT_OF_RANGE.
// Parked ranks hear of it now, the others when they arrive without knowing of the refusal. After
// that, contents are no longer fixed. Each call says how many refusals of its number its caller
// knows, and only calls with the same count meet. So no rank completes a collective that was
// refused to another:
//
//   ranks 0 and 1 arrive; rank 2 makes the answer too large: all three get OUT_OF_RANGE;
//   rank 0 calls again with less (refusals = 1), rank 3 comes late (refusals = 0) and is refused.
class CurrentCollective {
 public:
  // `context` must outlive this object.
  CurrentCollective(const GroupContext* context, uint64_t sequence);

  uint64_t sequence() const { return sequence_; }

  // Takes the arrival of a rank. Parks its call, or returns the error with which the call ends.
  // Appends the other calls that this ends to `done`. `past_bytes` will be released when the
  // collective completes.
  absl::Status Arrive(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request,
                      uint64_t past_bytes, FinishedCalls* done);
  // Returns whether the parked rank has called the same as the ranks that came before it.
  bool Agrees(uint32_t index) const;
  // Returns text such as "ranks disagree on op 3 of the world: ...".
  std::string DescribeMismatch() const;
  // Returns whether every rank is parked.
  bool IsComplete() const { return parked_ == arrivals_.size(); }
  // Reports how late each rank was, once all are parked. The rank at index `last` came last.
  void NoteLateness(uint32_t last) const;
  // Returns the arrivals of this collective, which has completed. This object is empty afterwards.
  PastCollective ToPast() &&;

  // Takes back the arrival of the waiter, which no longer waits.
  void Withdraw(uint32_t index, WaiterId waiter);
  // Takes back every send of the rank under a lower attempt, whether it has come or not. Returns
  // the waiter of such a send, or 0.
  WaiterId WithdrawBelow(uint32_t index, uint64_t attempt);
  // Ends all parked calls. The contents that the ranks have sent stay fixed.
  FinishedCalls FailParked(const absl::Status& status);
  // Ends all parked calls, and forgets the contents that the ranks have sent.
  FinishedCalls Abandon(const absl::Status& status);

  const Arrival& arrival(uint32_t index) const { return arrivals_[index]; }
  bool pending() const { return parked_ > 0; }
  // Returns whether no rank has sent anything here, not even a send that was withdrawn or refused.
  bool untouched() const { return !sample_ && refusals_ == 0; }
  // Returns whether this number was refused to all and the caller does not know it yet.
  bool HasRefused(const CollectiveRequest& request) const {
    return request.sequence == sequence_ && request.refusals < refusals_;
  }
  // Returns what was refused to all since the last call, or an empty text.
  std::string TakeNewRefusal() { return std::exchange(new_refusal_, {}); }

  Absentees Absent() const;
  // Returns the ranks of the world that are parked, sorted.
  std::vector<uint32_t> Arrived() const;
  // Returns the call of the first parked rank: "Barrier('x')".
  std::string PendingOperation() const;
  Time first_arrival() const { return first_arrival_; }
  Time last_arrival() const { return last_arrival_; }
  StallClock* stall() { return &stall_; }
  // Returns the longest time that such a collective has taken, from the first arrival to the last.
  // Returns InfiniteDuration while too few are known.
  absl::Duration SlowestSoFar() const;

 private:
  absl::Status Check(uint32_t index, const CollectiveRequest& request) const;
  absl::Status CheckContent(uint32_t index, const CollectiveRequest& request) const;
  absl::Status CheckRoom(uint32_t index, const CollectiveRequest& request,
                         uint64_t past_bytes) const;
  bool IsTooLarge(uint32_t index, const CollectiveRequest& request) const;
  std::string DescribeRefusal(uint32_t index, const CollectiveRequest& request) const;
  absl::Status RefuseToAll(uint32_t index, const CollectiveRequest& request, FinishedCalls* done);
  void LearnOfRefusals(uint32_t index, uint32_t refusals, FinishedCalls* done);
  void Park(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request,
            FinishedCalls* done);
  WaiterId Unpark(uint32_t index);

  const RankGroup& group() const { return context_->group; }

  const GroupContext* context_;
  uint64_t sequence_;
  std::vector<Arrival> arrivals_;   // one per rank
  std::optional<uint32_t> sample_;  // the index of an arrival that was sent
  size_t parked_ = 0;
  ByteCharge payloads_;
  Time first_arrival_;
  Time last_arrival_;
  StallClock stall_;

  // How often this number was refused to all, and the error of the last time.
  uint32_t refusals_ = 0;
  absl::Status refusal_;
  std::string new_refusal_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_CURRENT_COLLECTIVE_H_
