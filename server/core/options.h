#ifndef MUSTER_SERVER_CORE_OPTIONS_H_
#define MUSTER_SERVER_CORE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/core/answer_size.h"
#include "server/core/job_status.h"

namespace muster::core {

// The wire protocol this core speaks; an Attach of another version is refused.
inline constexpr uint32_t kProtocolVersion = 1;

// Bounds on what peers can make the daemon hold. Past an amount: RESOURCE_EXHAUSTED, naming it and
// its flag. A text that is too long is malformed, INVALID_ARGUMENT: see ValidateName().
struct Limits {
  uint64_t max_payload_bytes = 64ull
                               << 20;  // --max-payload-bytes: one contribution or lease result
  uint64_t max_answer_bytes = 2047ull << 20;  // --max-answer-bytes: what one collective is answered
  // --max-held-bytes: all payloads and results together, and the answers made of them
  uint64_t max_held_bytes = 4ull << 30;
  uint32_t max_members = 16384;  // --max-members: attached at once; also the largest world size
  uint32_t max_waiters = 65536;  // --max-waiters: parked calls
  // --max-waiters-per-member: parked calls of one member
  uint32_t max_waiters_per_member = 1024;
  uint32_t max_groups = 4096;  // --max-groups: groups of one epoch
  // --max-group-ranks: the ranks of those with a name, all together; each takes about 0.4 KB
  uint32_t max_group_ranks = 1 << 20;
  uint32_t max_leases = 65536;  // --max-leases: names of leased work
  // --max-leases-per-member: leases that one member holds or waits for
  uint32_t max_leases_per_member = 1024;
  uint32_t max_name_bytes = 256;  // --max-name-bytes: names, labels, types, topologies
};

struct Options {
  std::string job_id = "default";
  uint32_t world_size = 0;  // 0: as the first member says
  // Not 0: the job is elastic, and an epoch forms with at least so many members.
  uint32_t min_world_size = 0;
  uint32_t max_world_size = 0;  // of an elastic job; 0: world_size
  // How many processes may take places that others had before, in the whole life of an elastic job;
  // 0: any number.
  uint32_t max_restarts_total = 0;
  // How long nobody must have come or gone before an epoch forms with places unfilled.
  absl::Duration settle = absl::Seconds(5);
  // How long the survivors of a broken epoch have to call Rejoin.
  absl::Duration rejoin_timeout = absl::Seconds(60);
  absl::Duration member_grace = absl::Seconds(2);
  // How long a restarted daemon waits for the members of a claimed epoch, from the first claim.
  absl::Duration recovery_grace = absl::Seconds(60);
  // How long nobody must have arrived before the missing are named, then at each doubling; 0:
  // never.
  absl::Duration stall_warning = absl::Seconds(10);
  absl::Duration default_wait_timeout = absl::Minutes(30);
  Limits limits;
  std::string daemon_version;
  // Random, new at each start of a daemon.
  uint64_t instance = 1;
  // Numbers that nobody can guess: for epoch nonces and the keys of sessions.
  std::function<uint64_t()> random;
  // Whether Effects::inquiry would be of use now, in this state of the job, which takes a look at
  // every member to make. Not set: yes. Nothing else depends on it.
  std::function<bool(absl::Time, JobState)> wants_inquiry;

  // INVALID_ARGUMENT names the first field that is out of range.
  absl::Status Validate() const;
};

// OK if `name` has 1 to max_bytes bytes of UTF-8-safe printable text (no control characters).
// INVALID_ARGUMENT says what is wrong with it and names `what` ("job id", "label").
absl::Status ValidateName(absl::string_view what, absl::string_view name, uint32_t max_bytes);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_OPTIONS_H_
