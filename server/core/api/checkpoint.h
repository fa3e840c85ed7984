#ifndef MUSTER_SERVER_CORE_API_CHECKPOINT_H_
#define MUSTER_SERVER_CORE_API_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/claim.h"
#include "server/core/api/lease_key.h"
#include "server/core/api/options.h"

namespace muster::core {

// The state of a coordinator at a moment when its job runs and no work is in progress. All members
// of the epoch are attached, no other process is there, and no call waits.
//
// It leaves out what only messages need: lateness, earlier activities, past losses. It also leaves
// out what only a late duplicate of an old call would need: contributions to completed collectives.
struct Checkpoint {
  struct Member {
    RosterEntry place;
    uint64_t session = 0;  // the session's counter
    uint64_t session_key = 0;
    WaiterId stream = 0;
    uint64_t attach_attempt = 0;
    uint64_t join_attempt = 0;
    std::string cpus = {};
    bool commits_on_node = false;
  };
  struct Group {
    GroupName name;
    uint64_t next_sequence = 0;
    std::string finished;  // why the group is finished; empty: it is not
    // For a named group: the ranks of the world that have called it, and the ranks of these that
    // have released it.
    std::vector<uint32_t> heard = {};
    std::vector<uint32_t> released = {};
  };
  // A member's claim of a group whose ranks no call has named since the daemon was restarted.
  struct Claimed {
    uint32_t rank = 0;
    KnownGroup group;
  };
  struct Lease {
    LeaseKey key;
    Incarnation member;  // the holder; for a completed lease, any member of the epoch
    uint64_t token = 0;
    uint64_t request_id = 0;
    std::optional<LeaseResult> result;
  };

  EpochId epoch;
  std::vector<Member> members;  // in rank order
  std::vector<Group> groups;
  std::vector<Claimed> claimed_groups;
  std::vector<Lease> leases;
  uint64_t highest_epoch = 0;
  uint64_t highest_token = 0;
  uint64_t last_session = 0;
  JobHistory history;
  bool stop_asked = false;
};

// Checks a checkpoint, which may come from a file. INVALID_ARGUMENT says what is wrong.
absl::Status Check(const Checkpoint& checkpoint, const Limits& limits, Time now);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_CHECKPOINT_H_
