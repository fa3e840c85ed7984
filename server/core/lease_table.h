#ifndef MUSTER_SERVER_CORE_LEASE_TABLE_H_
#define MUSTER_SERVER_CORE_LEASE_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/byte_budget.h"
#include "server/core/types.h"

namespace muster::core {

// Names a piece of leased work: its scope, the node (empty for the job's), its name.
struct LeaseKey {
  LeaseScope scope = LeaseScope::kNode;
  std::string node_id;
  std::string name;
  friend bool operator<(const LeaseKey& a, const LeaseKey& b) {
    return std::tie(a.scope, a.node_id, a.name) < std::tie(b.scope, b.node_id, b.name);
  }
};

// Who holds which lease, who waits for it, and what completed work resulted in. The state belongs
// to the job and outlives epochs. At most one holder a lease; tokens only grow.
class LeaseTable {
 public:
  // One member's request to hold a lease.
  struct Request {
    Incarnation member;
    uint64_t id = 0;
    friend bool operator==(const Request& a, const Request& b) {
      return a.id == b.id && a.member == b.member;
    }
    friend bool operator<(const Request& a, const Request& b) {
      return std::tie(a.member, a.id) < std::tie(b.member, b.id);
    }
  };
  struct Holder {
    Request request;
    uint64_t token = 0;
    Time since;
  };
  struct Waiting {
    Request request;
    WaiterId waiter = 0;
    uint64_t attempt = 0;
  };
  struct Lease {
    std::optional<Holder> holder;
    std::optional<LeaseResult> result;
    std::deque<Waiting> queue;
  };
  // A waiter that is done, and how.
  struct Finished {
    WaiterId waiter = 0;
    absl::Status status;
    LeaseAnswer answer;
  };
  using Step = std::vector<Finished>;

  // `instance`: the daemon's, see Options.
  LeaseTable(uint32_t max_leases, uint64_t instance, ByteBudget* budget)
      : max_leases_(max_leases), instance_(instance), budget_(budget) {}

  // Queues the request; finishes it at once if the work is done, if it holds the lease already, or
  // if it was abandoned (CANCELLED). Grant() decides whether it becomes the holder.
  Step Acquire(const LeaseKey& key, const Request& request, uint64_t attempt, WaiterId waiter);

  // Gives the lease to the first in its queue if nobody holds it.
  Step Grant(Time now, const LeaseKey& key);
  // The same for all leases.
  Step GrantAll(Time now);

  // Records the outcome and answers everybody who waits. FAILED_PRECONDITION if the token is not
  // current or not this member's. `who` names the holder's successor in that error.
  absl::StatusOr<Step> Complete(const LeaseKey& key, const Incarnation& member, LeaseResult result);

  // Takes the request back: out of the queue, or the lease away from it, and whenever it arrives
  // later.
  Step Abandon(const LeaseKey& key, const Request& request);

  // ---- What members know, for a coordinator that was restarted ----

  // A token that was granted once: later ones are higher.
  void Observe(uint64_t token) { highest_token_ = std::max(highest_token_, token); }
  // Whether the lease is held by this request under this token, or was completed under it.
  bool Stands(const LeaseKey& key, const Request& request, uint64_t token) const;
  // The request says that it holds the lease: it does, unless a later grant or a result is known.
  bool AdoptHolder(const LeaseKey& key, const Request& request, uint64_t token, Time now);
  // A member says that the work is done: it is, and whoever waits is answered. A grant that is
  // known is void.
  absl::StatusOr<Step> AdoptResult(const LeaseKey& key, const LeaseResult& result);
  // Takes away from the member every lease that it holds under another token than these.
  void KeepOnly(const Incarnation& member, const std::vector<uint64_t>& tokens);

  // The waiter no longer waits.
  void Withdraw(const LeaseKey& key, WaiterId waiter);

  // The member is gone: the leases it holds are free. Its waiters must have been withdrawn.
  void Forget(const Incarnation& member);

  const Lease* Find(const LeaseKey& key) const;
  const std::map<LeaseKey, Lease>& all() const { return leases_; }

 private:
  uint64_t NextToken(Time now);
  absl::Status CheckRoomFor(const LeaseKey& key) const;
  absl::StatusOr<Step> Publish(Lease* lease, LeaseResult result);
  void RememberAbandoned(const Request& request);
  void EraseIfUnused(std::map<LeaseKey, Lease>::iterator it);

  const uint32_t max_leases_;
  const uint64_t instance_;
  ByteBudget* const budget_;
  std::map<LeaseKey, Lease> leases_;
  std::set<Request> abandoned_;
  uint64_t highest_token_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_LEASE_TABLE_H_
