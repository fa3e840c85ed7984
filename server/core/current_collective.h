#ifndef MUSTER_SERVER_CORE_CURRENT_COLLECTIVE_H_
#define MUSTER_SERVER_CORE_CURRENT_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/arrival.h"
#include "server/core/byte_budget.h"
#include "server/core/finished_call.h"
#include "server/core/lateness.h"
#include "server/core/past_collective.h"
#include "server/core/rank_group.h"
#include "server/core/stall_clock.h"

namespace muster::core {

// Whom a collective waits for: ranks of the world, sorted.
struct Absentees {
  std::vector<uint32_t> missing;  // have not come
  std::vector<uint32_t> gave_up;  // had come, and have stopped waiting
};

// What the collectives of one group have in common.
struct GroupContext {
  RankGroup group;
  bool recovered = false;  // the group may be older than this coordinator
  uint64_t max_answer_bytes = 0;
  ByteBudget* budget = nullptr;
  LatenessBook* lateness = nullptr;  // learns of each collective that completes here
};

// The collective at a group's current sequence number: who has arrived, and with what.
//
// Arrivals are a set of ranks, never a count. What a rank called is fixed by its first send,
// withdrawn or not.
//
// An answer that would be too large is refused to all: whoever is parked, and whoever comes later
// without knowing of the refusal, gets OUT_OF_RANGE. Then contents are no longer fixed. Calls say
// how many refusals of their number they know of, and only calls that know of the same ones meet:
// so no rank completes what another was refused.
class CurrentCollective {
 public:
  // `context` must outlive it.
  CurrentCollective(const GroupContext* context, uint64_t sequence);

  uint64_t sequence() const { return sequence_; }

  // A rank arrives. Parks its call, or returns the error that the call ends with. The other calls
  // that end by this go to `done`. `past_bytes` are released when the collective completes.
  absl::Status Arrive(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request,
                      uint64_t past_bytes, FinishedCalls* done);
  // Whether the rank, which is parked, has called the same as the ranks that came before it.
  bool Agrees(uint32_t index) const;
  // "ranks disagree on op 3 of the world: ...".
  std::string DescribeMismatch() const;
  // Whether every rank is parked.
  bool IsComplete() const { return parked_ == arrivals_.size(); }
  // Tells how late each rank was, once all are parked. The rank at `last` came last.
  void NoteLateness(uint32_t last) const;
  // The arrivals of this collective, which has completed. Nothing is left here.
  PastCollective ToPast() &&;

  // The waiter no longer waits, so its arrival does not count any more.
  void Withdraw(uint32_t index, WaiterId waiter);
  // No send of the rank under a lower attempt counts, whether it has come or not. Returns the
  // waiter of such a send, or 0.
  WaiterId WithdrawBelow(uint32_t index, uint64_t attempt);
  // Ends all parked calls. What the ranks have sent stays fixed.
  FinishedCalls FailParked(const absl::Status& status);
  // Ends all parked calls, and forgets what the ranks have sent.
  FinishedCalls Abandon(const absl::Status& status);

  const Arrival& arrival(uint32_t index) const { return arrivals_[index]; }
  bool pending() const { return parked_ > 0; }
  // No rank has come, and none has come and gone.
  bool untouched() const { return !sample_ && refusals_ == 0; }
  // Whether the caller does not know yet that this number was refused to all.
  bool HasRefused(const CollectiveRequest& request) const {
    return request.sequence == sequence_ && request.refusals < refusals_;
  }
  // What was refused to all since this was last asked. Empty: nothing.
  std::string TakeRefusalNews() { return std::exchange(refusal_news_, {}); }

  Absentees Absent() const;
  // Ranks of the world that are parked, sorted.
  std::vector<uint32_t> Arrived() const;
  // "Barrier('x')" of whoever is parked.
  std::string PendingOperation() const;
  Time first_arrival() const { return first_arrival_; }
  Time last_arrival() const { return last_arrival_; }
  StallClock* stall() { return &stall_; }
  // The longest that such a collective has taken, from the first arrival to the last. Infinite
  // while too few are known.
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
  std::optional<uint32_t> sample_;  // an arrival that was sent
  size_t parked_ = 0;
  ByteCharge payloads_;
  Time first_arrival_;
  Time last_arrival_;
  StallClock stall_;

  // How often this number was refused to all, and the last time's error.
  uint32_t refusals_ = 0;
  absl::Status refusal_;
  std::string refusal_news_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_CURRENT_COLLECTIVE_H_
