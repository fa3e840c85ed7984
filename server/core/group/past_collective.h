#ifndef MUSTER_SERVER_CORE_GROUP_PAST_COLLECTIVE_H_
#define MUSTER_SERVER_CORE_GROUP_PAST_COLLECTIVE_H_

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/core/group/arrival.h"
#include "server/core/group/finished_call.h"
#include "server/core/group/rank_group.h"
#include "server/core/support/byte_budget.h"

namespace muster::core {

// The last completed collective of a group, for the ranks whose answer was lost.
//
// Usually it knows every contribution. After a restart of the coordinator, it knows only that the
// collective completed. Contributions then come in by retries and on request, and a rank is
// answered once the contributions to its answer are here. An arrival takes constant time, unless it
// makes the answer known.
class PastCollective {
 public:
  // Makes the past collective of a group of `size` ranks, with unknown contributions. `budget` must
  // outlive it.
  PastCollective(size_t size, ByteBudget* budget) : arrivals_(size), held_(budget) {}
  // Makes it from these arrivals, of which some may still be parked or unknown. `payloads` is the
  // charge for their payloads.
  PastCollective(std::vector<Arrival> arrivals, ByteCharge payloads);

  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  // Returns the bytes that are held: contributions, and the answer made of them.
  uint64_t bytes() const { return held_.bytes(); }

  // Checks whether the rank may repeat its call with this request. The request must match the known
  // arrivals, must not be older than the rank's latest send, and there must be room for its
  // payload.
  absl::Status Check(const RankGroup& group, uint32_t index,
                     const CollectiveRequest& request) const;
  // Records the rank's contribution, and parks its call. Returns whether this has made the answer
  // known.
  bool Record(uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  // Removes the rank's waiter, answered or not, and returns it, or 0 if there was none.
  WaiterId Unpark(uint32_t index);
  // Does the same if the waiter's call was sent under a lower attempt.
  WaiterId UnparkBelow(uint32_t index, uint64_t attempt);
  // Does the same for all ranks.
  std::vector<WaiterId> UnparkAll();

  // Answer the rank, or all ranks, that wait and whose answer is known.
  FinishedCalls Answer(uint32_t index);
  FinishedCalls AnswerAll();
  // Returns whether parked ranks wait for unknown contributions.
  bool WantsAny() const { return parked_[kRoot] + parked_[kAll] > 0; }
  // Returns whether the contribution of the rank at this index is unknown and parked ranks wait for
  // it.
  bool Wants(uint32_t index) const;
  // Returns the indices of all such ranks.
  std::vector<uint32_t> Wanted() const;

 private:
  // The contributions that the answer to a rank contains.
  enum Need { kNothing, kRoot, kAll };

  // Returns an arrival whose content is known, and with which all others must agree, or null.
  const Arrival* Sample() const { return sample_ ? &arrivals_[*sample_] : nullptr; }
  // Returns how many more bytes Record() would hold.
  uint64_t CostOf(uint32_t index, const CollectiveRequest& request) const;
  bool MakesAnswer(uint32_t index, const CollectiveRequest& request) const;
  Need NeedOf(uint32_t index) const;
  CollectiveAnswer AnswerFor(uint32_t index);
  void AppendAnswer(uint32_t index, FinishedCalls* done);
  void ChargeHeld() { held_.Set(answer_is_known_ ? 2 * contributed_ : contributed_); }

  std::vector<Arrival> arrivals_;
  std::optional<uint32_t> sample_;  // the index of an arrival that was sent
  size_t sent_ = 0;
  std::array<size_t, 3> parked_{};  // by need
  uint64_t contributed_ = 0;        // bytes of the known contributions
  bool answer_is_known_ = false;
  ByteCharge held_;
  // The payloads of the answers, once the first answer was made.
  std::shared_ptr<const std::vector<Bytes>> payloads_;
  std::shared_ptr<EncodingSlot> encoding_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_PAST_COLLECTIVE_H_
