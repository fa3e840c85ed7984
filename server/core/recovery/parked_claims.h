#ifndef MUSTER_SERVER_CORE_RECOVERY_PARKED_CLAIMS_H_
#define MUSTER_SERVER_CORE_RECOVERY_PARKED_CLAIMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "server/core/api/requests.h"

namespace muster::core {

// Attach calls that claim an epoch whose members no claimant has named yet. A claim does not bring
// the roster along, so that it does not grow with the job. One claimant is asked for it, and
// attaches again with the roster. If that takes too long, or its stream ends, the next claimant is
// asked.
class ParkedClaims {
 public:
  struct Entry {
    WaiterId stream = 0;
    AttachRequest request;
    bool asked = false;
  };

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  // Parks a claim that names an epoch. The process must not have another one parked.
  void Park(Time now, WaiterId stream, const AttachRequest& request);
  // Removes and returns the claim, or returns nullopt if the stream has none.
  std::optional<Entry> Take(Time now, WaiterId stream);

  // Returns the process's claim, or null.
  const Entry* FindProcess(const Incarnation& incarnation) const;
  // Return the first of the claims of the lowest, or the highest, epoch.
  const Entry* Lowest() const;
  const Entry* Highest() const;

  // Returns when to ask a claimant, or InfiniteFuture if no claimant is left to ask.
  Time next_question() const { return next_question_; }
  // Returns the claimant to ask now: the first one of the highest epoch that was not asked before.
  // Returns null if there is none.
  const Entry* Ask(Time now);

 private:
  // The epoch's number and nonce, and the order of arrival.
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;

  std::map<Key, Entry> entries_;
  absl::flat_hash_map<WaiterId, Key> by_stream_;
  absl::flat_hash_map<Incarnation, Key> by_process_;
  uint64_t arrivals_ = 0;
  WaiterId asked_stream_ = 0;  // the claimant asked last, while its claim is parked
  Time next_question_ = absl::InfiniteFuture();
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_RECOVERY_PARKED_CLAIMS_H_
