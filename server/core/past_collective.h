#ifndef MUSTER_SERVER_CORE_PAST_COLLECTIVE_H_
#define MUSTER_SERVER_CORE_PAST_COLLECTIVE_H_

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/core/arrival.h"
#include "server/core/byte_budget.h"
#include "server/core/finished_call.h"
#include "server/core/rank_group.h"

namespace muster::core {

// The last completed collective of a group, for the ranks whose answer was lost.
//
// Usually it knows every contribution. After a restart of the coordinator it knows only that the
// collective did complete: contributions come in again, by retries and on request, and a rank is
// answered once those that its answer is made of are here. What one arrival does takes the same
// time however many ranks there are, but for the arrival that makes the answer known.
class PastCollective {
 public:
  // The past collective of a group of `size` ranks, whose contributions are all unknown.
  // `budget` must outlive it.
  PastCollective(size_t size, ByteBudget* budget) : arrivals_(size), held_(budget) {}
  // The one of these arrivals, some of which may still be parked or unknown; `payloads` is what
  // their payloads are charged as.
  PastCollective(std::vector<Arrival> arrivals, ByteCharge payloads);

  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  // Bytes that are held: contributions, and the answer that is made of them.
  uint64_t bytes() const { return held_.bytes(); }

  // Whether the rank may repeat its call with this request: it is as the others' and no older than
  // what has come of it, and there is room for what it brings.
  absl::Status Check(const RankGroup& group, uint32_t index,
                     const CollectiveRequest& request) const;
  // The rank repeats its call: its contribution is known now, and it waits for the result. Returns
  // whether the answer has become known by it.
  bool Record(uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  // Takes the rank out, answered or not; returns its waiter, 0 if there was none.
  WaiterId Unpark(uint32_t index);
  // The same, if what it waits with was sent under a lower attempt.
  WaiterId UnparkBelow(uint32_t index, uint64_t attempt);
  // The same of everybody who waits.
  std::vector<WaiterId> UnparkAll();

  // Answers the rank, or everybody, if it waits and its answer can be made.
  FinishedCalls Answer(uint32_t index);
  FinishedCalls AnswerAll();
  // Parked ranks wait for contributions that are unknown.
  bool WantsAny() const { return parked_[kRoot] + parked_[kAll] > 0; }
  // The contribution of the rank at this index is unknown, and parked ranks wait for it.
  bool Wants(uint32_t index) const;
  // All such ranks (as indices).
  std::vector<uint32_t> Wanted() const;

 private:
  // What the answer of one rank is made of.
  enum Need { kNothing, kRoot, kAll };

  // An arrival whose content is known, and which all others must agree with; null: none is.
  const Arrival* Sample() const { return sample_ ? &arrivals_[*sample_] : nullptr; }
  // How many bytes more Record() would hold.
  uint64_t CostOf(uint32_t index, const CollectiveRequest& request) const;
  bool MakesAnswer(uint32_t index, const CollectiveRequest& request) const;
  Need NeedOf(uint32_t index) const;
  CollectiveAnswer AnswerFor(uint32_t index);
  void AppendAnswer(uint32_t index, FinishedCalls* done);
  void ChargeHeld() { held_.Set(answer_is_known_ ? 2 * contributed_ : contributed_); }

  std::vector<Arrival> arrivals_;
  std::optional<uint32_t> sample_;  // an arrival that was sent
  size_t sent_ = 0;
  std::array<size_t, 3> parked_{};  // by need
  uint64_t contributed_ = 0;        // bytes of the contributions that are known
  bool answer_is_known_ = false;
  ByteCharge held_;
  // What the answers are made of, once the first was made.
  std::shared_ptr<const std::vector<Bytes>> payloads_;
  std::shared_ptr<EncodingSlot> encoding_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_PAST_COLLECTIVE_H_
