#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_LEASE_RECORDS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_LEASE_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "muster/lease.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// The name of leased work.
struct LeaseId {
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  friend bool operator==(const LeaseId& a, const LeaseId& b) {
    return a.name == b.name && a.scope == b.scope;
  }
  friend bool operator<(const LeaseId& a, const LeaseId& b) {
    return std::tie(a.scope, a.name) < std::tie(b.scope, b.name);
  }
};

// One member's leases: its requests, the leases it holds, and the outcomes it knows. Pure: no I/O,
// no threads, no clock.
class LeaseRecords {
 public:
  LeaseRecords() = default;
  LeaseRecords(const LeaseRecords&) = delete;
  LeaseRecords& operator=(const LeaseRecords&) = delete;

  // Returns the id of a new request.
  uint64_t NewRequest() { return ++last_request_; }

  // Notes a grant: the member holds the lease until End().
  void Granted(const LeaseId& lease, uint64_t request, uint64_t token);
  bool Holds(uint64_t token) const { return held_.count(token) != 0; }

  // Ends the lease of this token. Returns the request that got it, or nullopt if the member does
  // not hold it.
  std::optional<uint64_t> End(uint64_t token);

  // Forgets all held leases whose token is not in `tokens`.
  void KeepOnly(const std::set<uint64_t>& tokens);

  // Keeps the outcome of completed work. Only the latest are kept: at most `max_bytes` in all, and
  // kMaxCompleted. Every claim carries them, and other members claim theirs.
  static constexpr size_t kMaxCompleted = 4096;
  void Completed(const LeaseId& lease, const v1::LeaseResult& result, size_t max_bytes);

  // Adds all of it to the claim.
  void AddTo(v1::Claim* claim) const;

 private:
  struct Held {
    LeaseId lease;
    uint64_t request = 0;
  };
  struct CompletedWork {
    LeaseId lease;
    v1::LeaseResult result;
  };

  void NoteToken(uint64_t token);
  void Forget(std::list<CompletedWork>::iterator done);

  uint64_t last_request_ = 0;
  uint64_t highest_token_ = 0;
  std::map<uint64_t, Held> held_;       // by token
  std::list<CompletedWork> completed_;  // the latest first
  std::map<LeaseId, std::list<CompletedWork>::iterator> by_lease_;
  size_t completed_bytes_ = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_LEASE_RECORDS_H_
