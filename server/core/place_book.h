#ifndef MUSTER_SERVER_CORE_PLACE_BOOK_H_
#define MUSTER_SERVER_CORE_PLACE_BOOK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/core/deadlines.h"
#include "server/core/placement.h"

namespace muster::core {

// Who waits for a place in the epoch that forms, and which places they ask for. Pure: it knows
// members by their number in the order of arrival.
//
// A rank, or a local rank of a node, is one candidate's alone. Another one that asks for it must be
// a process that started later, and contends: it gets the place when the holder goes, displaces a
// holder that is not attached, and is refused where the holder still lives after a grace, in which
// a dead one's connection will have ended.
class PlaceBook {
 public:
  using Id = uint64_t;
  // A place that a candidate asks for and another one has.
  struct Conflict {
    Id holder = 0;
    std::string place;  // in words
  };
  struct Verdict {
    Id contender = 0;
    Conflict conflict;
    // The holder is not attached and must go; else the contender is refused.
    bool displaces = false;
  };

  // In elastic jobs the agreed size outlives the candidates that agreed on it.
  explicit PlaceBook(bool elastic) : elastic_(elastic) {}

  size_t size() const { return candidates_.size(); }
  bool empty() const { return candidates_.empty(); }
  bool Has(Id id) const { return candidates_.count(id) > 0; }
  const std::map<Id, Candidate>& candidates() const { return candidates_; }

  // Whether the candidate may enter, where an epoch has `size` members (0: not known yet).
  // INVALID_ARGUMENT: a place out of range. FAILED_PRECONDITION: some ask for ranks, others do not.
  // ALREADY_EXISTS: the place is held by a process that started later.
  absl::Status Check(Id id, const Candidate& candidate, uint32_t size) const;
  // The last of these alone: newcomers of a running epoch may ask for what becomes free.
  absl::Status CheckHolder(Id id, const Candidate& candidate) const;
  // The candidate waits for a place. Where it asks for one that another has, it contends for it
  // until that time; true then.
  bool Enter(Id id, Candidate candidate, Time contends_until);
  // The candidate, if it is one, waits no longer.
  void Leave(Id id);

  std::optional<Conflict> FindConflict(Id id, const Candidate& candidate) const;
  // ALREADY_EXISTS, with both named.
  absl::Status PlaceTaken(const Candidate& newcomer, const Conflict& conflict) const;

  bool HasContenders() const { return !contenders_.empty(); }
  bool Contends(Id id) const { return contenders_.Has(id); }
  // How many of those who contend `is` true of.
  uint32_t CountContenders(absl::FunctionRef<bool(Id)> is) const;
  Time NextContenderDeadline() const { return contenders_.Next(); }
  // Gives places that are free to contenders. Returns a contender that must be decided upon: call
  // again once the holder, or the contender, has left.
  std::optional<Verdict> Decide(Time now, absl::FunctionRef<bool(Id)> is_attached);

  // The world size that candidates have named, 0 if none has; and who, in words.
  uint32_t agreed_size() const { return agreed_size_; }
  const std::string& agreed_by() const { return agreed_by_; }
  void Agree(uint32_t size, std::string by);
  // A candidate that asks for a place which an epoch of this size does not have, and why that is
  // an error.
  std::optional<std::pair<Id, absl::Status>> FindOutOfRange(uint32_t size) const;

  // Ranks below `size` that no candidate asks for, if some ask for ranks.
  std::vector<uint32_t> UnaskedRanks(uint32_t size) const;

 private:
  void TakePlace(Id id, const Candidate& candidate);
  absl::Status CheckAllAskOrNone(Id id, const Candidate& candidate) const;

  const bool elastic_;
  std::map<Id, Candidate> candidates_;
  std::map<uint32_t, Id> ranks_;
  std::map<std::pair<std::string, uint32_t>, Id> local_ranks_;  // by node
  Deadlines<Id> contenders_;
  uint32_t agreed_size_ = 0;
  std::string agreed_by_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_PLACE_BOOK_H_
