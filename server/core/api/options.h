#ifndef MUSTER_SERVER_CORE_API_OPTIONS_H_
#define MUSTER_SERVER_CORE_API_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/core/api/answer_size.h"
#include "server/core/api/job_status.h"

namespace muster::core {

// The version of the wire protocol. An Attach of another version is refused.
inline constexpr uint32_t kProtocolVersion = 1;

// Bounds on what peers can make the daemon hold. A peer that exceeds an amount gets
// RESOURCE_EXHAUSTED, which names the amount and its flag. A text that is too long is malformed and
// gets INVALID_ARGUMENT: see ValidateName().
struct Limits {
  uint64_t max_payload_bytes = 64ull
                               << 20;  // --max-payload-bytes: one contribution or lease result
  uint64_t max_answer_bytes = 2047ull << 20;  // --max-answer-bytes: the answer to one collective
  // --max-held-bytes: all payloads and results in total, and the answers made of them
  uint64_t max_held_bytes = 4ull << 30;
  uint32_t max_members = 16384;  // --max-members: attached at once; also the largest world size
  uint32_t max_waiters = 65536;  // --max-waiters: parked calls
  // --max-waiters-per-member: parked calls of one member
  uint32_t max_waiters_per_member = 1024;
  uint32_t max_groups = 4096;  // --max-groups: groups of one epoch
  // --max-group-ranks: the ranks of all named groups, in total; each takes about 0.4 KB
  uint32_t max_group_ranks = 1 << 20;
  uint32_t max_leases = 65536;  // --max-leases: names of leased work
  // --max-leases-per-member: leases that one member holds or waits for
  uint32_t max_leases_per_member = 1024;
  uint32_t max_name_bytes = 256;  // --max-name-bytes: names, labels, types, topologies
};

// The configuration of the job's key-value store (docs/store.md).
struct StoreOptions {
  uint64_t max_key_bytes = 8 << 10;    // --max-store-key-bytes
  uint64_t max_value_bytes = 8 << 20;  // --max-store-value-bytes: one value or element
  uint32_t max_keys = 128 << 10;       // --max-store-keys: also keys that were just deleted
  bool answers_wait_for_copy = false;  // --store-answers-wait-for-copy
  // Until when the daemon is too young to answer clients that were never served: others, which were
  // served by an earlier daemon, may not have come back.
  absl::Time young_until = absl::InfinitePast();

  // The largest entry: a queue with all its elements, and the results that travel with it. An entry
  // is sent in one message.
  uint64_t max_entry_bytes() const {
    constexpr uint64_t kLargest = uint64_t{1} << 30;
    return max_value_bytes > kLargest / 8 ? kLargest : 8 * max_value_bytes;
  }
};

// The configuration of a Coordinator, mostly from musterd's flags.
struct Options {
  std::string job_id = "default";
  uint32_t world_size = 0;  // 0: the first member says it
  // The minimum size of an epoch of an elastic job. 0: the job is not elastic.
  uint32_t min_world_size = 0;
  uint32_t max_world_size = 0;  // for an elastic job; 0: world_size
  // How many processes may take places that others had before, in the whole life of an elastic job.
  // 0: any number.
  uint32_t max_restarts_total = 0;
  // Quiet period, in which no member comes or goes, before an epoch forms with empty places.
  absl::Duration settle = absl::Seconds(5);
  // How long the survivors of a broken epoch may take to call Rejoin.
  absl::Duration rejoin_timeout = absl::Seconds(60);
  // How long a detached member may take to attach again before it is lost.
  absl::Duration member_grace = absl::Seconds(2);
  // How long a restarted daemon waits for the members of a claimed epoch, from the first claim.
  absl::Duration recovery_grace = absl::Seconds(60);
  // How long no member must have arrived before the missing ones are named. They are named again
  // whenever the wait has doubled. 0: never.
  absl::Duration stall_warning = absl::Seconds(10);
  // The time-out of a call that names none.
  absl::Duration default_wait_timeout = absl::Minutes(30);
  Limits limits;
  StoreOptions store;
  std::string daemon_version;
  // A random number, new at each start of a daemon.
  uint64_t instance = 1;
  // Returns numbers that cannot be guessed, for epoch nonces and the keys of sessions.
  std::function<uint64_t()> random;
  // Returns whether Effects::inquiry would be of use now, in this state of the job. Making one
  // takes a look at every member. If this is not set, every inquiry is made. Nothing else depends
  // on it.
  std::function<bool(absl::Time, JobState)> wants_inquiry;

  // Returns INVALID_ARGUMENT that names the first field that is out of range.
  absl::Status Validate() const;
};

// Returns OK if `name` has 1 to max_bytes bytes of printable UTF-8 (no control characters).
// INVALID_ARGUMENT names `what` ("job id", "label") and says what is wrong.
absl::Status ValidateName(absl::string_view what, absl::string_view name, uint32_t max_bytes);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_OPTIONS_H_
