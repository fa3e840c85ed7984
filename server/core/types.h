#ifndef MUSTER_SERVER_CORE_TYPES_H_
#define MUSTER_SERVER_CORE_TYPES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

// The vocabulary of the core: what goes in (requests), what comes out (effects), and what both are
// made of. The messages of proto/muster/v1 say what each field means; this mirrors them without
// protobuf.
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

struct SessionId {
  uint64_t daemon_instance = 0;
  uint64_t counter = 0;
  friend bool operator==(const SessionId& a, const SessionId& b) {
    return a.daemon_instance == b.daemon_instance && a.counter == b.counter;
  }
};

struct MemberIdentity {
  Incarnation incarnation;
  int64_t start_time_micros = 0;
  std::string node_id;
  std::string hostname;
  int64_t pid = 0;
};

// ---- Requests ----

struct AttachRequest {
  std::string job_id;
  MemberIdentity member;
  uint32_t protocol_version = 0;
  std::string sdk_version;
  std::optional<EpochId> epoch;
  uint64_t attempt = 0;
};

struct CallContext {
  std::string job_id;
  SessionId session;
  uint64_t attempt = 0;
  std::optional<absl::Duration> wait_timeout;
};

struct JoinRequest {
  CallContext call;
  uint32_t world_size = 0;  // 0: unspecified
  std::optional<uint32_t> rank;
  std::optional<uint32_t> local_rank;
  std::optional<uint32_t> node_rank;
  std::string topology;
};

enum class CollectiveKind { kBarrier, kBroadcast, kGather, kAllGather };

struct CollectiveRequest {
  CallContext call;
  EpochId epoch;
  std::string group;            // empty: the world
  std::vector<uint32_t> ranks;  // empty for the world
  uint64_t sequence = 0;
  CollectiveKind kind = CollectiveKind::kBarrier;
  uint32_t root = 0;  // index into the group; 0 where the kind has none
  std::string label;
  std::string type_name;
  Bytes payload;  // never null
};

enum class LeaseScope { kNode, kJob };

// Value or error of leased work.
struct LeaseResult {
  uint64_t token = 0;
  absl::Status error;  // OK: `value` counts
  Bytes value;
};

struct AcquireLeaseRequest {
  CallContext call;
  EpochId epoch;
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  uint64_t request_id = 0;
};

struct CompleteLeaseRequest {
  CallContext call;
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  LeaseResult result;
};

struct AbandonLeaseRequest {
  CallContext call;
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  uint64_t request_id = 0;
};

struct LeaveRequest {
  CallContext call;
  EpochId epoch;
};

struct ExitReport {
  std::string job_id;
  Incarnation incarnation;
  bool signaled = false;
  int code = 0;  // exit status, or the signal's number
};

// ---- Effects ----

struct RosterEntry {
  MemberIdentity member;
  uint32_t local_rank = 0;
  uint32_t node_rank = 0;
};
using Roster = std::vector<RosterEntry>;  // in rank order

struct JoinAnswer {
  EpochId epoch;
  uint32_t rank = 0;
  std::shared_ptr<const Roster> roster;
};

// kBarrier: none; kBroadcast: one; kGather: one per rank at the root, else none; kAllGather: one
// per rank.
struct CollectiveAnswer {
  std::shared_ptr<const std::vector<Bytes>> payloads;  // never null
};

struct LeaseGrant {
  uint64_t token = 0;
};

using LeaseAnswer = std::variant<LeaseGrant, LeaseResult>;

// What a call that ends OK is answered with; monostate where the response is empty.
using Answer = std::variant<std::monostate, JoinAnswer, CollectiveAnswer, LeaseAnswer>;

// Ends a call.
struct Reply {
  WaiterId waiter = 0;
  absl::Status status;
  Answer answer;  // where the status is OK
};

struct Failure {
  std::optional<uint32_t> rank;
  MemberIdentity member;
  std::string cause;
  Time when;
};

struct Attached {
  SessionId session;
};

struct EpochBroken {
  EpochId epoch;
  std::string reason;
  std::vector<Failure> failures;
};

// Sends an event on an Attach stream.
struct StreamEvent {
  WaiterId stream = 0;
  std::variant<Attached, EpochBroken> event;
};

// Ends an Attach stream, after the events sent before.
struct StreamEnd {
  WaiterId stream = 0;
  absl::Status status;
};

enum class Severity { kDebug, kInfo, kWarning, kError };

struct LogLine {
  Severity severity = Severity::kInfo;
  std::string text;
};

// What the caller must do after a step, in this order within each list, and events before ends.
struct Effects {
  std::vector<Reply> replies;
  std::vector<StreamEvent> events;
  std::vector<StreamEnd> ends;
  std::vector<LogLine> log;
};

// ---- Status ----

enum class JobState { kForming, kRunning, kFailed, kFinished };
enum class MemberState { kAttached, kJoining, kRunning, kDetached, kLeaving, kLeft, kLost };

struct MemberStatus {
  MemberIdentity member;
  std::optional<uint32_t> rank;
  uint32_t local_rank = 0;
  uint32_t node_rank = 0;
  MemberState state = MemberState::kAttached;
  std::string last_collective;
  std::string waiting_in;      // empty: not parked
  absl::Duration waiting_for;  // where parked
  absl::Duration since_last_call;
};

struct PendingCollective {
  std::string group;
  uint64_t sequence = 0;
  std::string operation;
  std::vector<uint32_t> arrived;  // world ranks
  std::vector<uint32_t> missing;  // world ranks
  absl::Duration age;
};

struct LeaseStatus {
  std::string name;
  LeaseScope scope = LeaseScope::kNode;
  std::string node_id;  // of node leases
  std::optional<MemberIdentity> holder;
  std::optional<uint32_t> holder_rank;
  uint64_t token = 0;
  bool completed = false;
  uint32_t waiters = 0;
  absl::Duration held_for;  // where held
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
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_TYPES_H_
