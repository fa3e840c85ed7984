#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MESSAGES_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/environment/identity.h"
#include "client/src/environment/process_fingerprint.h"
#include "client/src/node/fan_in_round.h"
#include "client/src/protocol/messages/collective_call.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "client/src/protocol/messages/member_requests.h"
#include "client/src/protocol/messages/session_state.h"
#include "muster/group.h"
#include "muster/job_options.h"
#include "muster/lease.h"

// Converts the SDK's types to messages of the protocol and back. Only FillContext() sets the
// CallContext.
namespace muster::internal {

v1::LeaseScope ScopeOf(LeaseScope scope);
void SetTime(absl::Time time, google::protobuf::Timestamp* out);
void SetDuration(absl::Duration duration, google::protobuf::Duration* out);
absl::Duration DurationOf(const google::protobuf::Duration& duration);
void SetGroup(const std::string& name, const std::vector<int>& ranks, v1::Group* out);
void SetIdentity(const Identity& identity, v1::MemberIdentity* out);
// Fills the CallContext of one send: the part of a request that differs between retries.
void FillContext(const std::string& job_id, const Stamp& stamp, absl::Duration wait,
                 Request* request);

Request MakeJoin(const JobOptions& options, const ProcessFingerprint& fingerprint);
Request MakeCollective(const EpochId& epoch, const std::string& group,
                       const std::vector<int>& ranks, uint64_t sequence, uint32_t refusals,
                       const CollectiveCall& call);
// Makes the batch of a node. Fields that differ between the members are in `parts`.
Request MakeNodeCollective(const EpochId& epoch, const std::string& group,
                           const std::vector<int>& ranks, uint64_t sequence, uint32_t refusals,
                           const CollectiveCall& call, const std::vector<TakenPart>& parts);
Request MakeWithdraw(const EpochId& epoch, const std::string& group, const std::vector<int>& ranks,
                     uint64_t sequence);
Request MakeRelease(const EpochId& epoch);
// Makes a report of commits, without the commits.
Request MakeCommitReport(const EpochId& epoch);
// Makes the report of a collective that the sender of these parts has completed on the node. The
// parts are those of all ranks of the group: see CompleteOnNode().
v1::NodeCommit MakeNodeCommit(uint64_t sequence, const CollectiveCall& call,
                              const std::vector<int>& group_ranks,
                              const std::vector<int>& node_ranks,
                              const std::vector<TakenPart>& parts);
Request MakeAcquire(const EpochId& epoch, const std::string& name, LeaseScope scope,
                    uint64_t request);
Request MakeComplete(const std::string& name, LeaseScope scope, uint64_t token,
                     const absl::StatusOr<std::string>& outcome);
Request MakeAbandon(const std::string& name, LeaseScope scope, uint64_t request);
Request MakeLeave(const EpochId& epoch);
Request MakeRejoin(v1::Claim claim);

// Returns the place as a JoinResponse.
v1::JoinResponse PlaceOf(v1::RejoinResponse response);
// Returns whether the answer to a collective reports a stop request.
bool StopRequestedIn(const Response& response);
// Returns the outcome of leased work, under this token.
v1::LeaseResult ResultOf(uint64_t token, const absl::StatusOr<std::string>& outcome);

EpochId EpochOf(const v1::EpochId& epoch);
std::vector<Member> MembersOf(const v1::JoinResponse& place);
// Returns the completed parts of a NodeCollective, and its answer for AnswerOf(). Returns nullopt
// if no part completed.
std::optional<Delivery> DeliveryOf(const absl::StatusOr<Response>& reply);
// Returns the answer that the member's own call would have had, or nullopt if `answer` is
// malformed. For a Gather, only the root gets payloads.
std::optional<Response> AnswerOf(CollectiveKind kind, bool is_root, const std::string& answer);
// Returns the total size of an answer's payloads.
size_t PayloadBytesOf(const Response& response);
// Returns an answer's payloads as ControlPlane::RunCollective() does.
std::vector<std::string> PayloadsOf(Response response);
absl::StatusOr<std::string> OutcomeOf(const v1::LeaseResult& result);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MESSAGES_H_
