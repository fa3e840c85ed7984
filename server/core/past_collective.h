#ifndef MUSTER_SERVER_CORE_PAST_COLLECTIVE_H_
#define MUSTER_SERVER_CORE_PAST_COLLECTIVE_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "server/core/arrival.h"
#include "server/core/effects.h"

namespace muster::core {

// A parked collective call that is done, and how.
struct FinishedCall {
  WaiterId waiter = 0;
  absl::Status status;
  CollectiveAnswer answer;
};

// The last completed collective of a group, for the ranks whose answer was lost.
//
// Usually it knows every contribution. After a restart of the coordinator it knows only that the
// collective did complete: contributions come in again, by retries and on request, and a rank is
// answered once those that its answer is made of are here.
class PastCollective {
 public:
  // Of a group of `size` ranks whose contributions are all unknown.
  explicit PastCollective(size_t size) : arrivals_(size) {}
  // Of these arrivals, some of which may still be parked or unknown; they hold `bytes` of payload.
  PastCollective(std::vector<Arrival> arrivals, uint64_t bytes);

  uint64_t bytes() const { return bytes_; }
  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  // An arrival whose content is known, and which all others must agree with; null: none is.
  const Arrival* Sample() const;

  // The rank repeats its call: its contribution is known now, and it waits for the result.
  void Record(uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  // Takes the rank out, answered or not; returns its waiter, 0 if there was none.
  WaiterId Unpark(uint32_t index);

  // The same of everybody who waits.
  std::vector<WaiterId> UnparkAll();

  // Answers everybody who waits and whose answer can be made.
  std::vector<FinishedCall> Settle();
  // Ranks (as indices) whose contributions are unknown and which parked ones wait for.
  std::vector<uint32_t> Wanted() const;

 private:
  bool IsWhole() const { return sent_ == arrivals_.size(); }
  bool CanAnswer(uint32_t index) const;
  CollectiveAnswer AnswerFor(uint32_t index);

  std::vector<Arrival> arrivals_;
  size_t sent_ = 0;
  size_t parked_ = 0;
  uint64_t bytes_ = 0;
  std::shared_ptr<const std::vector<Bytes>> payloads_;  // of the answers, once the first was made
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_PAST_COLLECTIVE_H_
