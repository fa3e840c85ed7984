#ifndef MUSTER_SERVER_CORE_VOCABULARY_H_
#define MUSTER_SERVER_CORE_VOCABULARY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

// What the core's requests, claims and effects are made of. The messages of proto/muster/v1 say
// what each field means; this mirrors them without protobuf.
namespace muster::core {

// The time that callers pass in. Never goes back: a steady clock, anchored once to the wall clock,
// because epoch numbers and lease tokens start from it so that they grow over a restart.
using Time = absl::Time;

// A parked call or an open stream, as the service names it. Never reused. Whoever gets a Reply or
// StreamEnd for it owns its end; the core forgets it in the same step.
using WaiterId = uint64_t;

// Contents of a collective or a lease. Shared, since one payload answers many calls.
using Bytes = std::shared_ptr<const std::string>;

using Incarnation = std::string;  // 16 bytes

struct EpochId {
  uint64_t number = 0;
  uint64_t nonce = 0;
  friend bool operator==(const EpochId& a, const EpochId& b) {
    return a.number == b.number && a.nonce == b.nonce;
  }
};

// Of two epochs that are claimed, the later one.
inline bool IsHigher(const EpochId& a, const EpochId& b) {
  return std::tie(a.number, a.nonce) > std::tie(b.number, b.nonce);
}

// What must not be forgotten of the epochs that the job has had.
struct JobHistory {
  // How many processes have taken places that others had before.
  uint32_t replacements = 0;
  uint32_t largest_world_size = 0;
};

struct SessionId {
  uint64_t daemon_instance = 0;
  uint64_t counter = 0;
  uint64_t key = 0;  // random: who does not know it is not the session's process
  friend bool operator==(const SessionId& a, const SessionId& b) {
    return a.daemon_instance == b.daemon_instance && a.counter == b.counter && a.key == b.key;
  }
};

struct MemberIdentity {
  Incarnation incarnation;
  int64_t start_time_micros = 0;
  std::string node_id;
  std::string hostname;
  int64_t pid = 0;
};

struct RosterEntry {
  MemberIdentity member;
  uint32_t local_rank = 0;
  uint32_t node_rank = 0;
  std::optional<uint32_t> previous_rank;  // of a survivor of the epoch before
  std::string topology = {};              // as its Join has said it
};
using Roster = std::vector<RosterEntry>;  // in rank order

// A group as calls name it.
struct GroupName {
  std::string name;             // empty: the world
  std::vector<uint32_t> ranks;  // empty for the world, and where the name alone says which it is
  friend bool operator<(const GroupName& a, const GroupName& b) {
    return std::tie(a.name, a.ranks) < std::tie(b.name, b.ranks);
  }
  friend bool operator==(const GroupName& a, const GroupName& b) {
    return a.name == b.name && a.ranks == b.ranks;
  }
};

enum class LeaseScope { kNode, kJob };

// The lowest bits of a lease token are the daemon's: two daemons that go on from one and the same
// token, with clocks that are both behind it, do not grant the same next one. The rest holds
// microseconds.
inline constexpr int kTokenShift = 10;

// Value or error of leased work.
struct LeaseResult {
  uint64_t token = 0;
  absl::Status error;  // OK: `value` counts
  Bytes value;
};

inline uint64_t HeldBytes(const LeaseResult& result) {
  return result.value->size() + result.error.message().size();
}

// The loss of one member.
struct Failure {
  std::optional<uint32_t> rank;
  MemberIdentity member;
  std::string cause;
  Time when;
  std::string activity;  // what it was doing, and since when
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_VOCABULARY_H_
