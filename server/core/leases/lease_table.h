#ifndef MUSTER_SERVER_CORE_LEASES_LEASE_TABLE_H_
#define MUSTER_SERVER_CORE_LEASES_LEASE_TABLE_H_

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
#include "server/core/api/lease_key.h"
#include "server/core/api/options.h"
#include "server/core/api/types.h"
#include "server/core/leases/kept_results.h"
#include "server/core/support/byte_budget.h"
#include "server/core/support/recent_tokens.h"

namespace muster::core {

// The leases of a job: which member holds each lease, which requests wait for it, and the outcome
// of completed work. The state belongs to the job and outlives epochs. A lease has at most one
// holder. Tokens only grow.
//
// A lease that is held or waited for stays. An outcome is kept for later callers, including members
// that join later, because any name may be asked for again. Neither time nor the end of an epoch
// removes an outcome. Outcomes are forgotten only to make room for:
//   * a new name beyond --max-leases;
//   * a new outcome, if the outcomes exceed half of --max-held-bytes (the other half is for
//     collectives), or all held payloads exceed --max-held-bytes.
//
// KeptResults decides which outcome goes first. RESOURCE_EXHAUSTED means that this does not make
// enough room, for example because all names are held or waited for. The members of a job use its
// names more or less in the same order. So the least recently used of 65,536 outcomes is one that
// all members have.
//
// Forgetting is safe:
//   * A member that asks for a forgotten name does the work again, under a higher token than any
//     before. The loss of a holder has the same effect: work may be repeated, and the token tells
//     the resource which run counts.
//   * A completion that is sent again because its answer was lost still gets OK, and its grant
//     still stands: the tokens of the outcomes that were forgotten last are remembered.
//   * A completed result beats a grant under the same or a lower token. It does not beat a grant
//     under a higher token: after completion, a name is granted again only if its outcome was
//     forgotten, and then the later run counts.
//   * From claims, this coordinator takes back no outcome that it may have forgotten, because a
//     later run may have been completed and forgotten since. A restarted coordinator takes what the
//     claims have. Of two outcomes of one name, the one with the higher token counts.
//
// One member cannot take what all share. It holds and waits for at most --max-leases-per-member,
// and the members whose outcomes take the most room lose outcomes first. Every call is logarithmic
// in what is kept. Calls that concern many leases or waiters are linear in those that they change.
// Tests: tests/server/core/leases/lease_table_test.cc.
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
    std::map<uint64_t, Waiting> queue;  // by ticket: the first request is first
  };
  // A waiter whose call has ended, with its result.
  struct Finished {
    WaiterId waiter = 0;
    absl::Status status;
    LeaseAnswer answer;
  };
  using Step = std::vector<Finished>;

  // `instance` is the daemon's: see Options. `budget` must outlive the table.
  LeaseTable(const Limits& limits, uint64_t instance, ByteBudget* budget);

  // Queues the request. GrantAll() later makes it the holder. Finishes the request at once if the
  // work is done or it holds the lease already. Also finishes it at once if it was abandoned
  // (CANCELLED) or there is no room (RESOURCE_EXHAUSTED).
  Step Acquire(const LeaseKey& key, const Request& request, uint64_t attempt, WaiterId waiter);

  // Returns whether requests wait for leases that are neither held nor completed.
  bool HasGrantable() const { return !grantable_.empty(); }
  // Grants each such lease to the first request in its queue.
  Step GrantAll(Time now);

  // Records the outcome and answers every waiter. Returns FAILED_PRECONDITION if the token is not
  // current or not this member's. Returns RESOURCE_EXHAUSTED if there is no room; then the lease
  // stays held.
  absl::StatusOr<Step> Complete(const LeaseKey& key, const Incarnation& member, LeaseResult result);

  // Takes the request back: removes it from the queue, or frees the lease that it holds. Cancels it
  // if it arrives later.
  Step Abandon(const LeaseKey& key, const Request& request);

  // ---- Claims of members, for a restarted coordinator ----

  // Notes a token that was granted before. Later grants get higher ones.
  void Observe(uint64_t token) { highest_token_ = std::max(highest_token_, token); }
  uint64_t highest_token() const { return highest_token_; }
  // Returns whether this request holds the lease under this token, or the lease was completed under
  // it.
  bool Stands(const LeaseKey& key, const Request& request, uint64_t token) const;
  // Returns whether the lease is held, or its result is kept.
  bool IsTaken(const LeaseKey& key) const;
  // Makes the request the holder, as its member claims. Does not if there is no room, or if a later
  // grant, or a result under the same or a later token, is known. Returns whether the member's
  // token stands: see Stands().
  bool AdoptHolder(const LeaseKey& key, const Request& request, uint64_t token, Time now);
  // Records a result that a member claims, and answers the waiters. Does nothing if a later grant
  // or result is known, or if the result was forgotten. A grant under the same or a lower token
  // becomes void. Takes only room that is free (RESOURCE_EXHAUSTED), so pass the latest results
  // first.
  absl::StatusOr<Step> AdoptResult(const LeaseKey& key, const Incarnation& claimant,
                                   const LeaseResult& result);
  // Takes from the member every lease that it holds under a token other than these.
  void KeepOnly(const Incarnation& member, std::vector<uint64_t> tokens);

  // Removes the request from the queue.
  void Withdraw(const LeaseKey& key, const Request& request);

  // Frees the leases that the member holds, and removes its requests. No waiter is answered, so the
  // caller must have finished them.
  void Forget(const Incarnation& member);

  // Forgets all leases, because they were another run's. Tokens continue from the highest.
  void Clear();

  const Lease* Find(const LeaseKey& key) const;
  const std::map<LeaseKey, Lease>& all() const { return leases_; }
  size_t held() const { return held_; }
  size_t waiting() const { return waiting_; }  // requests

  // Returns a text if outcomes were forgotten: at the first one, and whenever their number has
  // doubled since.
  std::optional<std::string> TakeForgottenReport();

 private:
  using Entry = std::map<LeaseKey, Lease>::iterator;
  using NumberedKey = std::pair<uint64_t, const LeaseKey*>;
  struct ByNumber {
    bool operator()(const NumberedKey& a, const NumberedKey& b) const {
      return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
    }
  };
  // The leases and requests of one member.
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

  // ---- Changes of one lease. Tidy() must follow. ----
  void Enqueue(Entry lease, const Request& request, uint64_t attempt, WaiterId waiter);
  // Returns the waiter of the request, or nullopt if the request was not queued.
  std::optional<WaiterId> Dequeue(Entry lease, const Request& request);
  void Hold(Entry lease, const Request& request, uint64_t token, Time now);
  void Release(Entry lease);
  Step Publish(Entry lease, LeaseResult result);
  void DropResult(Entry lease);
  // Updates `grantable_`, and erases the lease if nothing is left of it.
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
  std::set<const LeaseKey*, ByKey> grantable_;  // with waiting requests and no holder
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

#endif  // MUSTER_SERVER_CORE_LEASES_LEASE_TABLE_H_
