#ifndef MUSTER_SERVER_CORE_API_REQUESTS_H_
#define MUSTER_SERVER_CORE_API_REQUESTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/basic_types.h"
#include "server/core/api/claim.h"
#include "server/core/api/member_fingerprint.h"
#include "server/core/api/observation.h"

namespace muster::core {

// The requests to the core. The messages of the rpcs say what each field means.
struct AttachRequest {
  std::string job_id;
  MemberIdentity member;
  uint32_t protocol_version = 0;
  std::string sdk_version;
  uint64_t attempt = 0;
  std::shared_ptr<const Claim> claim;  // null: the caller knows nothing of an epoch
  std::string cpus = {};               // for the status; empty: the process is not bound
  // The caller may complete collectives on its node and report them later.
  bool commits_on_node = false;
};

// The part that all calls of an attached member have.
struct CallContext {
  std::string job_id;
  SessionId session;
  uint64_t attempt = 0;
  std::optional<absl::Duration> wait_timeout;
  // When the wait began, if not now. Set for a call that was deferred during the recovery.
  std::optional<Time> since;
};

struct JoinRequest {
  CallContext call;
  uint32_t world_size = 0;  // 0: unspecified
  std::optional<uint32_t> rank;
  std::optional<uint32_t> local_rank;
  std::optional<uint32_t> node_rank;
  std::string topology;
  std::optional<Fingerprint> fingerprint = {};
};

struct RejoinRequest {
  CallContext call;
  Claim claim;
};

enum class CollectiveKind { kBarrier, kBroadcast, kGather, kAllGather };

// The properties of a call that must be the same on all ranks of a group at one sequence number.
struct Operation {
  CollectiveKind kind = CollectiveKind::kBarrier;
  uint32_t root = 0;  // index into the group; 0 if the kind has no root
  std::string label;
  std::string type_name;
  std::optional<uint64_t> payload_size;  // set if it must be the same on all ranks
};

inline bool SameOperation(const Operation& a, const Operation& b) {
  return a.kind == b.kind && a.root == b.root && a.label == b.label && a.type_name == b.type_name &&
         a.payload_size == b.payload_size;
}

struct CollectiveRequest : Operation {
  CallContext call;
  EpochId epoch;
  GroupName group;
  uint64_t sequence = 0;
  // how many refusals of this number to all ranks (OUT_OF_RANGE) the caller knows of
  uint32_t refusals = 0;
  std::string call_site;  // for messages
  Bytes payload;          // never null
};

// One member's part of a NodeCollectiveRequest.
struct ArrivalPart {
  SessionId session;
  uint64_t attempt = 0;
  std::optional<absl::Duration> wait_timeout;  // if not set, the call's
  std::string call_site;                       // if empty, the call's
  Bytes payload;                               // never null
};

// The arrivals of several members of a node.
struct NodeCollectiveRequest {
  CollectiveRequest call;  // the sender's; it holds for all parts, except its payload
  std::vector<ArrivalPart> parts;
};

// Takes back all sends of a member to a collective under lower attempts.
struct WithdrawRequest {
  CallContext call;
  EpochId epoch;
  GroupName group;
  uint64_t sequence = 0;
};

// The groups that the caller's program has released, and the groups that the caller knows to be
// closed, by digest.
struct ReleaseRequest {
  struct Released {
    std::string digest;
    uint64_t next_sequence = 0;
  };
  CallContext call;
  EpochId epoch;
  std::vector<Released> released;
  std::vector<std::string> closed;
};

// Collectives that the caller has completed on its node, as the sender for all ranks of the group.
struct CommitReport {
  struct Commit : Operation {
    uint64_t sequence = 0;
    std::vector<absl::Duration> delays;  // by index in the group: how long after the first arrival
  };
  struct Group {
    GroupName name;
    std::vector<Commit> commits;  // ascending
  };
  CallContext call;
  EpochId epoch;
  std::vector<Group> groups;
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

struct StopRequest {
  CallContext call;
};

struct ExitReport {
  std::string job_id;
  Incarnation incarnation;
  bool signaled = false;
  int code = 0;  // exit status, or the signal's number
  // Why its launcher starts no other process in its place. Empty: it may start one.
  std::string given_up = {};
  bool started = true;              // false: the process was never started
  bool logged_by_launcher = false;  // its launcher reports it where the daemon's log goes
};

// A report that a process was stopped (SIGSTOP), or goes on.
struct ProcessStateReport {
  std::string job_id;
  Incarnation incarnation;
  bool stopped = false;
};

// A request to the launchers to look at their ranks.
struct InquiryRequest {
  std::string job_id;
  std::string reason;
};

// The observations of one launcher.
struct InquiryReport {
  std::string job_id;
  uint64_t number = 0;
  LauncherReport report;
};

// A query for the state of the job.
struct StatusQuery {
  std::string job_id;
  bool brief = false;                // see Coordinator::GetBriefStatus
  std::vector<Incarnation> members;  // of a brief status
  bool with_timeline = false;        // this and the next only if not brief
  bool with_completed_leases = false;
};

// A query for the latest inquiry, or for the next one.
struct InquiryQuery {
  std::string job_id;
  uint64_t after = 0;
  std::optional<absl::Duration> wait_timeout = {};  // not set: the call does not wait
  std::optional<LauncherIdentity> launcher = {};
  std::string files_of = {};
  bool without_reports = false;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_REQUESTS_H_
