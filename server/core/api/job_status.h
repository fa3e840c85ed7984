#ifndef MUSTER_SERVER_CORE_API_JOB_STATUS_H_
#define MUSTER_SERVER_CORE_API_JOB_STATUS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/activity.h"
#include "server/core/api/basic_types.h"

// The status of a job, for the status page and GetStatus. The messages of the same names say what
// each field means.

namespace muster::core {

enum class JobState { kForming, kRunning, kFailed, kFinished, kRecovering, kReforming };
enum class MemberState {
  kAttached,
  kJoining,
  kRunning,
  kDetached,
  kLeaving,
  kLeft,
  kLost,
  kStopped,
  kAwaited
};

inline constexpr size_t kJobStates = 6;
inline constexpr size_t kMemberStates = 9;

struct MemberStatus {
  MemberIdentity member;
  std::optional<uint32_t> rank;
  uint32_t local_rank = 0;
  uint32_t node_rank = 0;
  MemberState state = MemberState::kAttached;
  std::string last_collective;
  std::string waiting_in;      // empty if no call is parked
  absl::Duration waiting_for;  // if a call is parked
  absl::Duration since_last_call;
  std::string activity;
  Activity latest;   // `activity` is its text
  std::string cpus;  // empty: it is not bound
  // Its wait in the store: "key 'a' has not been set". Empty if there is none.
  std::string missing_in_store = {};
  absl::Duration in_store_for = {};
};

struct PendingCollective {
  GroupName group;
  uint64_t sequence = 0;
  std::string operation;
  std::vector<uint32_t> arrived;  // ranks of the world
  std::vector<uint32_t> missing;  // ranks of the world that have not come
  std::vector<uint32_t> gave_up;  // ranks of the world that had come, and have stopped waiting
  absl::Duration age;
  absl::Duration since_last_arrival;
};

struct LeaseStatus {
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  std::string node_id;  // for node leases
  std::optional<MemberIdentity> holder;
  std::optional<uint32_t> holder_rank;
  uint64_t token = 0;
  bool completed = false;
  uint32_t waiters = 0;
  absl::Duration held_for;  // if it is held
};

// The clients of the store that wait for the same thing.
struct StoreWaiters {
  std::string what;                         // "key 'a' has not been set"
  std::vector<uint32_t> ranks;              // of the clients that have one, sorted
  std::vector<std::string> launcher_nodes;  // of launchers, which wait for ranks; sorted
  uint32_t others = 0;                      // other clients without a rank
  absl::Duration age;                       // since the first of them waits
};

// A rank that others wait for.
struct Straggler {
  uint32_t rank = 0;
  std::string node_id = {};  // filled in where the caller needs it
  std::string operation;     // "Barrier('step #') of the world": each number in a label is replaced
  uint64_t collectives = 0;  // in the window
  uint64_t last = 0;         // how many of these it was last in
  absl::Duration median;     // how long after the median arrival it comes
  absl::Duration p95;
  // how long others have waited for it when it was last, from the median arrival on
  absl::Duration waited_for;
};

// One inquiry, in which all launchers look at their ranks.
struct InquiryStatus {
  uint64_t number = 0;  // 0: there was none
  std::string reason;
  bool wants_files = false;
  bool open = false;
  absl::Duration age;
  std::string verdict;  // empty while it is open
  std::string kind;
  std::vector<std::string> awaited_nodes;  // the nodes whose launchers are awaited, sorted
  bool complete = false;
};

struct JobStatus {
  JobState state = JobState::kForming;
  std::string reason;
  std::optional<EpochId> epoch;
  uint32_t world_size = 0;
  std::vector<MemberStatus> members;
  std::vector<PendingCollective> pending;
  std::vector<LeaseStatus> leases;
  std::vector<Failure> recent_failures;
  uint32_t min_world_size = 0;  // both for elastic jobs only
  uint32_t max_world_size = 0;
  uint32_t newcomers_waiting = 0;
  bool stop_requested = false;
  std::vector<std::string> node_collective_nodes;  // sorted
  std::vector<Straggler> stragglers;               // the worst first
  std::vector<std::string> oddities;               // differences between the epoch's members
  std::vector<std::string> finished_groups;        // why each finished group is finished
  std::optional<InquiryStatus> inquiry;            // the latest
  std::vector<StoreWaiters> store_waits;           // the longest first
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_JOB_STATUS_H_
