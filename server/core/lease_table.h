#ifndef MUSTER_SERVER_CORE_LEASE_TABLE_H_
#define MUSTER_SERVER_CORE_LEASE_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/byte_budget.h"
#include "server/core/kept_results.h"
#include "server/core/lease_key.h"
#include "server/core/options.h"
#include "server/core/recent_tokens.h"
#include "server/core/types.h"

namespace muster::core {

// Who holds which lease, who waits for it, and what completed work resulted in. The state belongs
// to the job and outlives epochs. At most one holder a lease; tokens only grow.
//
// A lease that is held or waited for stays. An outcome is kept for those who ask later, also for
// those who join later: nobody can say that a name will not be asked for again. So outcomes are not
// forgotten by time or by epoch, but only when there must be room: for a new name beyond
// --max-leases, or for a new outcome where the outcomes take half of --max-held-bytes (the other
// half is for collectives). KeptResults says which goes first; RESOURCE_EXHAUSTED is left for the
// case that nothing can go, since all names are held or waited for. Members of a job walk through
// its names more or less together, so that the outcome that nobody has asked for the longest, of
// 65,536, is one that they all have.
//
// What follows from forgetting, and why it is safe:
// - Who asks for a forgotten name does the work again, under a higher token than any before. That
//   is no more than what the loss of a holder may bring: work may be repeated, and the token tells
//   the resource which run counts.
// - A completion that is sent again because its answer was lost is still answered OK, and its grant
//   still stands: the tokens of the outcomes that were forgotten last are remembered.
// - A completed result beats a void grant, which is one under the same token or a lower one. It
//   does not beat a higher one: after completion a name is granted only once more if its outcome
//   was forgotten, and then the later run counts.
// - Of what it has forgotten, this coordinator takes nothing back from claims: a later run may have
//   been completed and forgotten since. A restarted one takes what the claims have; of two outcomes
//   of one name the higher token counts.
//
// One member cannot take what all share: it holds and waits for at most --max-leases-per-member,
// and its outcomes make room for each other first. Every call is logarithmic in what is kept; those
// that concern many leases or waiters are linear in those that they change.
class LeaseTable {
 public:
  // One member's request to hold a lease.
  struct Request {
    Incarnation member;
    uint64_t id = 0;
    friend bool operator==(const Request& a, const Request& b) {
      return a.id == b.id && a.member == b.member;
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
    std::map<uint64_t, Waiting> queue;  // by ticket: whoever came first is first
  };
  // A waiter that is done, and how.
  struct Finished {
    WaiterId waiter = 0;
    absl::Status status;
    LeaseAnswer answer;
  };
  using Step = std::vector<Finished>;

  // `instance`: the daemon's, see Options. `budget` must outlive the table.
  LeaseTable(const Limits& limits, uint64_t instance, ByteBudget* budget);

  // Queues the request; finishes it at once if the work is done, if it holds the lease already, if
  // it was abandoned (CANCELLED), or if there is no room (RESOURCE_EXHAUSTED). GrantAll() makes it
  // the holder.
  Step Acquire(const LeaseKey& key, const Request& request, uint64_t attempt, WaiterId waiter);

  // There are requests for leases that nobody holds, and that are not completed.
  bool HasGrantable() const { return !grantable_.empty(); }
  // Gives each such lease to the first in its queue.
  Step GrantAll(Time now);

  // Records the outcome and answers everybody who waits. FAILED_PRECONDITION if the token is not
  // current or not this member's; RESOURCE_EXHAUSTED if there is no room, and the lease stays held.
  absl::StatusOr<Step> Complete(const LeaseKey& key, const Incarnation& member, LeaseResult result);

  // Takes the request back: out of the queue, or the lease away from it, and whenever it arrives
  // later.
  Step Abandon(const LeaseKey& key, const Request& request);

  // ---- What members know, for a coordinator that was restarted ----

  // A token that was granted once: later ones are higher.
  void Observe(uint64_t token) { highest_token_ = std::max(highest_token_, token); }
  uint64_t highest_token() const { return highest_token_; }
  // Whether the lease is held by this request under this token, or was completed under it.
  bool Stands(const LeaseKey& key, const Request& request, uint64_t token) const;
  // Somebody holds the lease, or its result is kept.
  bool IsTaken(const LeaseKey& key) const;
  // The request says that it holds the lease: it does, unless a later grant or a result of the same
  // or a later token is known, or there is no room.
  bool AdoptHolder(const LeaseKey& key, const Request& request, uint64_t token, Time now);
  // A member says that the work is done: it is, and whoever waits is answered, unless a later grant
  // or result is known or it was forgotten. A grant under the same or a lower token is void. Takes
  // only room that is free (RESOURCE_EXHAUSTED): give it the latest results first.
  absl::StatusOr<Step> AdoptResult(const LeaseKey& key, const Incarnation& claimant,
                                   const LeaseResult& result);
  // Takes away from the member every lease that it holds under another token than these.
  void KeepOnly(const Incarnation& member, std::vector<uint64_t> tokens);

  // The request no longer waits.
  void Withdraw(const LeaseKey& key, const Request& request);

  // The member is gone: the leases it holds are free, and it waits for none. Nobody answers its
  // waiters, so they must have been finished.
  void Forget(const Incarnation& member);

  // All of it was another run's. Tokens go on from the highest.
  void Clear();

  const Lease* Find(const LeaseKey& key) const;
  const std::map<LeaseKey, Lease>& all() const { return leases_; }
  size_t held() const { return held_; }
  size_t waiting() const { return waiting_; }  // requests

  // If outcomes were forgotten: says so, at the first and at each doubling of their number.
  std::optional<std::string> TakeForgottenNews();

 private:
  using Entry = std::map<LeaseKey, Lease>::iterator;
  using NumberedKey = std::pair<uint64_t, const LeaseKey*>;
  struct ByNumber {
    bool operator()(const NumberedKey& a, const NumberedKey& b) const {
      return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
    }
  };
  // Whatever there is of one member.
  struct MemberLeases {
    std::set<NumberedKey, ByNumber> held;             // by token
    std::map<NumberedKey, uint64_t, ByNumber> waits;  // tickets, by request id
    std::set<uint64_t> abandoned;                     // request ids
    size_t count() const { return held.size() + waits.size(); }
    bool empty() const { return count() == 0 && abandoned.empty(); }
  };

  uint64_t NextToken(Time now);
  bool IsAbandoned(const Request& request) const;
  void RememberAbandoned(const Request& request);

  // Changes of one lease. Tidy() must follow.
  void Enqueue(Entry lease, const Request& request, uint64_t attempt, WaiterId waiter);
  // The waiter that the request waited with; nullopt if it did not wait.
  std::optional<WaiterId> Dequeue(Entry lease, const Request& request);
  void Hold(Entry lease, const Request& request, uint64_t token, Time now);
  void Release(Entry lease);
  Step Publish(Entry lease, LeaseResult result);
  void DropResult(Entry lease);
  // Whether the lease can be granted is noted, and a lease of which nothing is left is erased.
  void Tidy(Entry lease);
  void EraseIfEmpty(const Incarnation& member);

  Waiting* FindWaiting(Entry lease, const Request& request);
  absl::Status CheckShare(const LeaseKey& key, const Incarnation& member) const;
  absl::Status MakeRoomForName(const LeaseKey& key);
  absl::Status MakeRoomForBytes(const LeaseKey& key, uint64_t bytes);
  absl::Status CheckFree(const LeaseKey& key, uint64_t bytes) const;
  void ForgetResult(const LeaseKey& key);
  absl::Status NotCurrent(const LeaseKey& key, uint64_t token) const;

  const uint32_t max_leases_;
  const uint32_t max_per_member_;
  const uint64_t max_result_bytes_;
  const uint64_t instance_;
  ByteBudget* const budget_;
  std::map<LeaseKey, Lease> leases_;
  std::set<const LeaseKey*, ByKey> grantable_;  // a waiter, no holder
  std::map<Incarnation, MemberLeases> members_;
  size_t held_ = 0;
  size_t waiting_ = 0;
  KeptResults kept_;
  RecentTokens forgotten_;
  uint64_t forgotten_count_ = 0;
  uint64_t forgotten_reported_ = 0;
  std::string last_forgotten_;
  uint64_t tickets_ = 0;
  uint64_t highest_token_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_LEASE_TABLE_H_
