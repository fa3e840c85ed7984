#ifndef MUSTER_SERVER_CORE_PARKED_CALLS_H_
#define MUSTER_SERVER_CORE_PARKED_CALLS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/core/input.h"
#include "server/core/lease_table.h"
#include "server/core/member_table.h"

namespace muster::core {

class CollectiveGroup;

// Payload bytes of a call.
uint64_t HeldBytes(const MemberCall& call);

// What a parked call waits for.
struct ForPlace {  // in the epoch that forms
  bool rejoins = false;
};
struct ForCollective {
  CollectiveGroup* group = nullptr;
  uint32_t index = 0;  // of the member in the group
  uint64_t sequence = 0;
};
struct ForLease {
  LeaseKey key;
  uint64_t request_id = 0;
};
struct ForLeavers {};  // until every rank is leaving or lost
struct ForRecovery {   // after which the call is served
  std::shared_ptr<const MemberCall> call;
};
using Wait = std::variant<ForPlace, ForCollective, ForLease, ForLeavers, ForRecovery>;

struct ParkedCall {
  Member* member = nullptr;
  Time since;
  absl::Duration timeout;
  Wait wait;
};

// The calls that wait for an answer, by id, by deadline and by member.
class ParkedCalls {
 public:
  size_t size() const { return calls_.size(); }
  // Null if the id is not parked.
  const ParkedCall* Find(WaiterId id) const;
  // The ids of all, sorted.
  std::vector<WaiterId> All() const;

  void Park(WaiterId id, ParkedCall call);
  // Takes the call out; nullopt if the id is not parked.
  std::optional<ParkedCall> Take(WaiterId id);

  // The ids of the member's calls, in the order in which they came.
  std::vector<WaiterId> Of(const Member& member) const;
  size_t CountOf(const Member& member) const { return member.parked_.all.size(); }
  // Its Join or Rejoin, and its Leave; 0 if there is none.
  WaiterId JoinOf(const Member& member) const { return member.parked_.join; }
  WaiterId LeaveOf(const Member& member) const { return member.parked_.leave; }

  Time NextDeadline() const {
    return deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
  }
  // A call whose deadline has come. It stays parked, and is not returned again.
  std::optional<WaiterId> PopExpired(Time now);

 private:
  // Most calls wait as long as those before them: they are put at the end, and taken out from where
  // they stand, without a search.
  using Deadlines = std::set<std::pair<Time, WaiterId>>;
  struct Entry {
    ParkedCall call;
    std::optional<Deadlines::iterator> deadline;  // unless it has been returned as expired
  };

  absl::flat_hash_map<WaiterId, Entry> calls_;
  Deadlines deadlines_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_PARKED_CALLS_H_
