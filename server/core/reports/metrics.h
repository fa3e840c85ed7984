#ifndef MUSTER_SERVER_CORE_REPORTS_METRICS_H_
#define MUSTER_SERVER_CORE_REPORTS_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "server/core/api/job_status.h"
#include "server/core/statistics/counters.h"
#include "server/core/statistics/lateness.h"

namespace muster::core {

// The metrics of a coordinator: numbers without texts that grow with the job, so that monitoring
// can ask often.
struct Metrics {
  JobState state = JobState::kForming;
  std::optional<uint64_t> epoch;  // the epoch's number
  uint32_t world_size = 0;
  uint32_t newcomers_waiting = 0;
  uint32_t replacements = 0;  // processes that have taken places of others, in the job's life
  bool stop_requested = false;
  std::array<uint32_t, kMemberStates> members{};  // by MemberState

  // The amounts that are limited.
  size_t known_members = 0;  // --max-members
  size_t parked_calls = 0;   // --max-waiters
  uint64_t held_bytes = 0;   // --max-held-bytes
  size_t lease_names = 0;    // --max-leases
  size_t groups = 0;         // --max-groups; includes groups that are closed and not settled

  size_t store_keys = 0;     // --max-store-keys; includes keys that were just deleted
  size_t store_clients = 0;  // that have a stream
  size_t store_waits = 0;    // operations on the store that are not answered

  size_t leases_held = 0;
  size_t lease_waiters = 0;

  size_t pending_collectives = 0;
  absl::Duration oldest_pending;  // since its first rank has come; zero if there is none

  Counters counters;
  std::vector<CollectiveWaits> collective_waits;
  std::vector<Straggler> stragglers;  // ten at most, the worst first
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_REPORTS_METRICS_H_
