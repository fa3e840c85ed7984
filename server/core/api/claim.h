#ifndef MUSTER_SERVER_CORE_API_CLAIM_H_
#define MUSTER_SERVER_CORE_API_CLAIM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/basic_types.h"

namespace muster::core {

// A claim of a group that is named by its name and ranks.
struct GroupClaim {
  GroupName group;
  uint64_t next_sequence = 0;
  std::string finished;  // why the group is finished; empty: it is not
};

// A claim of a group that is named by its digest.
struct KnownGroup {
  std::string digest;
  uint64_t next_sequence = 0;
  std::string finished;
  bool released = false;  // whether the claimant's program has released it
  bool closed = false;    // whether the claimant knows that all ranks have released it
};

struct FailureClaim {
  std::optional<uint32_t> rank;
  MemberIdentity member;
  std::string cause;
  absl::Duration age;
  std::string activity;
};

// A claim that the epoch is broken, with the losses that broke it.
struct BrokenClaim {
  std::string reason;
  std::vector<FailureClaim> failures;
};

struct HeldLease {
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  uint64_t token = 0;
  uint64_t request_id = 0;
};

struct CompletedLease {
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  LeaseResult result;
};

// The knowledge of one member about the job. A restarted coordinator rebuilds the epoch from its
// members' claims.
struct Claim {
  std::optional<EpochId> epoch;
  uint32_t rank = 0;
  std::shared_ptr<const Roster> roster;  // null unless the coordinator has asked for it
  std::vector<GroupClaim> groups;
  std::vector<KnownGroup> known_groups;
  std::optional<BrokenClaim> broken;
  std::vector<HeldLease> held;
  std::vector<CompletedLease> completed;
  uint64_t highest_token = 0;
  uint64_t highest_epoch = 0;
  bool leaving = false;
  bool stop_asked = false;
  std::optional<uint64_t> stop_sequence;
  JobHistory history;
};

// Returns the bytes of all fields whose size the claimant chooses.
uint64_t HeldBytes(const Claim& claim);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_CLAIM_H_
