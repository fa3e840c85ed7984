#ifndef MUSTER_SERVER_CORE_FORMATION_PLACEMENT_REQUESTS_H_
#define MUSTER_SERVER_CORE_FORMATION_PLACEMENT_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/core/formation/placement.h"
#include "server/core/support/deadlines.h"

namespace muster::core {

// The candidates for places in the epoch that forms, and the places that they ask for. It knows
// members by their number in the order of arrival, and nothing else of the job.
//
// A rank, or a local rank of a node, belongs to one candidate. Another candidate that asks for it
// must be a process that started later, and contends for the place:
//
//   the holder goes:                                     the contender gets the place;
//   the holder is not attached:                          it is displaced;
//   the holder is still attached when the grace ends:    the contender is refused.
//
// The grace is long enough for the connection of a dead holder to end.
class PlacementRequests {
 public:
  using Id = uint64_t;
  // A place that a candidate asks for and another candidate holds.
  struct Conflict {
    Id holder = 0;
    std::string place;  // in words
  };
  struct Decision {
    Id contender = 0;
    Conflict conflict;
    // Whether the holder must go, because it is not attached. Else the contender is refused.
    bool displaces = false;
  };

  // In an elastic job, the agreed size outlives the candidates that agreed on it.
  explicit PlacementRequests(bool elastic) : elastic_(elastic) {}

  size_t size() const { return candidates_.size(); }
  bool empty() const { return candidates_.empty(); }
  bool Has(Id id) const { return candidates_.count(id) > 0; }
  const std::map<Id, Candidate>& candidates() const { return candidates_; }

  // Checks whether the candidate may enter, if the epoch has `size` members (0: not known yet).
  // Returns INVALID_ARGUMENT if a place is out of range, or if some candidates ask for ranks and
  // others do not. Returns ALREADY_EXISTS if a process that started later holds the place.
  absl::Status Check(Id id, const Candidate& candidate, uint32_t size) const;
  // Checks only for ALREADY_EXISTS: newcomers of a running epoch may ask for a place that becomes
  // free.
  absl::Status CheckHolder(Id id, const Candidate& candidate) const;
  // Adds the candidate. If it asks for a place that another one holds, it contends for it until
  // that time. Returns whether it does.
  bool Enter(Id id, Candidate candidate, Time contends_until);
  // Removes the candidate, if it is one.
  void Leave(Id id);

  // Returns the first place that the candidate asks for and another one holds, or nullopt.
  std::optional<Conflict> FindConflict(Id id, const Candidate& candidate) const;
  // Returns ALREADY_EXISTS, which names both.
  absl::Status PlaceTaken(const Candidate& newcomer, const Conflict& conflict) const;

  bool HasContenders() const { return !contenders_.empty(); }
  bool Contends(Id id) const { return contenders_.Has(id); }
  // Returns how many contenders `is` holds for.
  uint32_t CountContenders(absl::FunctionRef<bool(Id)> is) const;
  Time NextContenderDeadline() const { return contenders_.Next(); }
  // Gives free places to contenders. Returns a contender that the caller must decide on. Call again
  // once the holder, or the contender, has left.
  std::optional<Decision> Decide(Time now, absl::FunctionRef<bool(Id)> is_attached);

  // The world size that candidates have named, or 0, and the candidate that named it, in words.
  uint32_t agreed_size() const { return agreed_size_; }
  const std::string& agreed_by() const { return agreed_by_; }
  // Sets the agreed size. `by` names the candidate in words.
  void Agree(uint32_t size, std::string by);
  // Returns a candidate that asks for a place which an epoch of this size does not have, and the
  // error for it.
  std::optional<std::pair<Id, absl::Status>> FindOutOfRange(uint32_t size) const;

  // Returns the ranks below `size` that no candidate asks for, if some ask for ranks.
  std::vector<uint32_t> UnrequestedRanks(uint32_t size) const;

 private:
  void TakePlace(Id id, const Candidate& candidate);
  absl::Status CheckAllOrNoneAskForRanks(Id id, const Candidate& candidate) const;

  const bool elastic_;
  std::map<Id, Candidate> candidates_;
  std::map<uint32_t, Id> ranks_;
  std::map<std::pair<std::string, uint32_t>, Id> local_ranks_;  // by node
  Deadlines<Id> contenders_;
  uint32_t agreed_size_ = 0;
  std::string agreed_by_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FORMATION_PLACEMENT_REQUESTS_H_
