#ifndef MUSTER_SERVER_CORE_JOB_PARKED_CALLS_H_
#define MUSTER_SERVER_CORE_JOB_PARKED_CALLS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/core/api/input.h"
#include "server/core/api/lease_key.h"
#include "server/core/job/member_table.h"

namespace muster::core {

class CollectiveGroup;

// Returns the payload bytes of a call.
uint64_t HeldBytes(const MemberCall& call);

// The kinds of waits. A WaitReason says what a parked call waits for.
struct WaitForPlace {  // a place in the epoch that forms
  bool rejoins = false;
};
struct WaitForCollective {
  CollectiveGroup* group = nullptr;
  uint32_t index = 0;  // of the member in the group
  uint64_t sequence = 0;
};
struct WaitForLease {
  LeaseKey key;
  uint64_t request_id = 0;
};
struct WaitForLeavers {};  // until every rank is leaving or lost
struct WaitForRecovery {   // the end of the recovery, after which the call is served
  std::shared_ptr<const MemberCall> call;
};
using WaitReason =
    std::variant<WaitForPlace, WaitForCollective, WaitForLease, WaitForLeavers, WaitForRecovery>;

struct ParkedCall {
  Member* member = nullptr;
  Time since;
  absl::Duration timeout;
  WaitReason wait;
};

// The calls that wait for an answer, by id, by deadline and by member.
class ParkedCalls {
 public:
  size_t size() const { return calls_.size(); }
  // Returns null if the id is not parked.
  const ParkedCall* Find(WaiterId id) const;
  // Returns the ids of all calls, sorted.
  std::vector<WaiterId> All() const;

  // Adds the call, whose deadline is `since` plus `timeout`. The id must be new.
  void Park(WaiterId id, ParkedCall call);
  // Removes and returns the call, or returns nullopt if the id is not parked.
  std::optional<ParkedCall> Take(WaiterId id);

  // Returns the ids of the member's calls, in the order in which they came.
  std::vector<WaiterId> CallsOf(const Member& member) const;
  size_t CountOf(const Member& member) const { return member.parked_.all.size(); }
  // Returns the member's Join or Rejoin, and its Leave, or 0 if there is none.
  WaiterId JoinOf(const Member& member) const { return member.parked_.join; }
  WaiterId LeaveOf(const Member& member) const { return member.parked_.leave; }

  Time NextDeadline() const {
    return deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
  }
  // Returns a call whose deadline has passed. It stays parked, and is not returned again.
  std::optional<WaiterId> PopExpired(Time now);

 private:
  // Most calls wait as long as the calls before them. So they are added at the end and removed by
  // iterator, without a search.
  using Deadlines = std::set<std::pair<Time, WaiterId>>;
  struct Entry {
    ParkedCall call;
    std::optional<Deadlines::iterator> deadline;  // nullopt once it was returned as expired
  };

  absl::flat_hash_map<WaiterId, Entry> calls_;
  Deadlines deadlines_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_PARKED_CALLS_H_
