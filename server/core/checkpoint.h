#ifndef MUSTER_SERVER_CORE_CHECKPOINT_H_
#define MUSTER_SERVER_CORE_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/claim.h"
#include "server/core/lease_key.h"
#include "server/core/options.h"
#include "server/core/vocabulary.h"

namespace muster::core {

// What a coordinator knows at a moment in which its job runs and nothing is under way: all members
// of the epoch are attached, nobody else is there, and nobody waits for anybody. It leaves out what
// only words are made of, and what only who repeats an old call would ask for: who was late, what
// members did before, losses that are over, contributions to collectives that have completed.
struct Checkpoint {
  struct Member {
    RosterEntry place;
    uint64_t session = 0;  // counter
    uint64_t session_key = 0;
    WaiterId stream = 0;
    uint64_t attach_attempt = 0;
    uint64_t join_attempt = 0;
  };
  struct Group {
    GroupName name;
    uint64_t next_sequence = 0;
    std::string finished;  // empty: it goes on
    // Of a named group: ranks of the world that have called it, and those of them that have let it
    // go.
    std::vector<uint32_t> heard = {};
    std::vector<uint32_t> released = {};
  };
  // What a member claims of a group whose ranks nobody has named since the daemon was restarted.
  struct Claimed {
    uint32_t rank = 0;
    KnownGroup group;
  };
  struct Lease {
    LeaseKey key;
    Incarnation member;  // who holds it; of a completed one whoever is in the epoch
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

// OK if it can be one: it may have been read from a file. INVALID_ARGUMENT says what is wrong.
absl::Status Check(const Checkpoint& checkpoint, const Limits& limits, Time now);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_CHECKPOINT_H_
