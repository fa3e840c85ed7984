#ifndef MUSTER_SERVER_CORE_API_BASIC_TYPES_H_
#define MUSTER_SERVER_CORE_API_BASIC_TYPES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

// The types from which the core's requests, claims and effects are made. They mirror the messages
// of proto/muster/v1, which say what each field means, without protobuf.
namespace muster::core {

// The time that callers pass in. It never goes back: it comes from a steady clock that was anchored
// once to the wall clock. Epoch numbers and lease tokens start from it, so that they grow across a
// restart.
using Time = absl::Time;

// The id of a parked call or an open stream, chosen by the service. Never reused. The receiver of a
// Reply or StreamEnd for it must end it; the core forgets it in the same step.
using WaiterId = uint64_t;

// The contents of a collective or a lease. Shared, because one payload answers many calls.
using Bytes = std::shared_ptr<const std::string>;

using Incarnation = std::string;  // 16 bytes

struct EpochId {
  uint64_t number = 0;
  uint64_t nonce = 0;
  friend bool operator==(const EpochId& a, const EpochId& b) {
    return a.number == b.number && a.nonce == b.nonce;
  }
};

// Returns whether `a` is the later one of two claimed epochs.
inline bool IsHigher(const EpochId& a, const EpochId& b) {
  return std::tie(a.number, a.nonce) > std::tie(b.number, b.nonce);
}

// The facts about earlier epochs that must outlive them.
struct JobHistory {
  // How many processes have taken places that others had before.
  uint32_t replacements = 0;
  uint32_t largest_world_size = 0;
};

struct SessionId {
  uint64_t daemon_instance = 0;
  uint64_t counter = 0;
  uint64_t key = 0;  // random: proves that a caller is the session's process
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
  std::optional<uint32_t> previous_rank;  // the rank of a survivor in the previous epoch
  std::string topology = {};              // from the member's Join
};
using Roster = std::vector<RosterEntry>;  // in rank order

// The name of a group as calls give it.
struct GroupName {
  std::string name;             // empty: the world
  std::vector<uint32_t> ranks;  // empty for the world, and if the name alone identifies the group
  friend bool operator<(const GroupName& a, const GroupName& b) {
    return std::tie(a.name, a.ranks) < std::tie(b.name, b.ranks);
  }
  friend bool operator==(const GroupName& a, const GroupName& b) {
    return a.name == b.name && a.ranks == b.ranks;
  }
};

enum class LeaseScope { kNode, kJob };

// The lowest bits of a lease token belong to the daemon. Two daemons that continue from the same
// token, with clocks that are both behind it, then grant different next tokens. The higher bits
// hold microseconds.
inline constexpr int kTokenShift = 10;

// The value or error of leased work.
struct LeaseResult {
  uint64_t token = 0;
  absl::Status error;  // OK: `value` is meaningful
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

#endif  // MUSTER_SERVER_CORE_API_BASIC_TYPES_H_
