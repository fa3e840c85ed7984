#ifndef MUSTER_SERVER_CORE_PARKED_CLAIMS_H_
#define MUSTER_SERVER_CORE_PARKED_CLAIMS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "server/core/requests.h"

namespace muster::core {

// Attach calls that claim an epoch of which nobody has said yet who its members are. A claim does
// not bring the roster along: of a thousand members that come back, one is asked for it. Whoever is
// asked attaches again, with the roster; if that takes too long, or its stream ends, the next one
// is asked.
class ParkedClaims {
 public:
  struct Entry {
    WaiterId stream = 0;
    AttachRequest request;
    bool asked = false;
  };

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

  // The claim names an epoch. The process must have none parked.
  void Park(Time now, WaiterId stream, const AttachRequest& request);
  // Takes the claim out; nullopt if the stream is not one of a parked claim.
  std::optional<Entry> Take(Time now, WaiterId stream);

  // Null if there is none.
  const Entry* FindProcess(const Incarnation& incarnation) const;
  // Of those that claim the lowest, or the highest, epoch, the one that came first.
  const Entry* Lowest() const;
  const Entry* Highest() const;

  // When somebody is to be asked; InfiniteFuture while there is nobody left to ask.
  Time next_question() const { return next_question_; }
  // Who is asked now: one that claims the highest epoch and was not asked before. Null if there is
  // none.
  const Entry* Ask(Time now);

 private:
  // Epoch's number and nonce, and the order of coming.
  using Key = std::tuple<uint64_t, uint64_t, uint64_t>;

  std::map<Key, Entry> entries_;
  absl::flat_hash_map<WaiterId, Key> by_stream_;
  absl::flat_hash_map<Incarnation, Key> by_process_;
  uint64_t arrivals_ = 0;
  WaiterId asked_ = 0;  // the last one, while it is parked
  Time next_question_ = absl::InfiniteFuture();
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_PARKED_CLAIMS_H_
