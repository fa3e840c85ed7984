#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/environment/fingerprint.h"
#include "client/src/environment/identity.h"
#include "client/src/node/meeting.h"
#include "client/src/protocol/collective_call.h"
#include "client/src/protocol/epoch_id.h"
#include "client/src/protocol/requests.h"
#include "client/src/protocol/session_state.h"
#include "muster/group.h"
#include "muster/job_options.h"
#include "muster/lease.h"

// The SDK's words as messages of the protocol, and back. Context is left to FillContext().
namespace muster::internal {

v1::LeaseScope ScopeOf(LeaseScope scope);
void SetTime(absl::Time time, google::protobuf::Timestamp* out);
void SetDuration(absl::Duration duration, google::protobuf::Duration* out);
absl::Duration DurationOf(const google::protobuf::Duration& duration);
void SetGroup(const std::string& name, const std::vector<int>& ranks, v1::Group* out);
void SetIdentity(const Identity& identity, v1::MemberIdentity* out);
// Names the sender of one send: the part of a request that differs between its repetitions.
void FillContext(const std::string& job_id, const Stamp& stamp, absl::Duration wait,
                 Request* request);

Request MakeJoin(const JobOptions& options, const Fingerprint& fingerprint);
Request MakeCollective(const EpochId& epoch, const std::string& group,
                       const std::vector<int>& ranks, uint64_t sequence, uint32_t refusals,
                       const CollectiveCall& call);
// The same for members of one node, whose parts go together. What differs between them stands in
// the parts.
Request MakeNodeCollective(const EpochId& epoch, const std::string& group,
                           const std::vector<int>& ranks, uint64_t sequence, uint32_t refusals,
                           const CollectiveCall& call, const std::vector<TakenPart>& parts);
Request MakeWithdraw(const EpochId& epoch, const std::string& group, const std::vector<int>& ranks,
                     uint64_t sequence);
Request MakeRelease(const EpochId& epoch);
Request MakeAcquire(const EpochId& epoch, const std::string& name, LeaseScope scope,
                    uint64_t request);
Request MakeComplete(const std::string& name, LeaseScope scope, uint64_t token,
                     const absl::StatusOr<std::string>& outcome);
Request MakeAbandon(const std::string& name, LeaseScope scope, uint64_t request);
Request MakeLeave(const EpochId& epoch);
Request MakeRejoin(v1::Claim claim);

// The same place, as Join would have answered it.
v1::JoinResponse PlaceOf(v1::RejoinResponse response);
// Whether the answer to a collective says that a stop was asked for.
bool StopRequestedIn(const Response& response);
// What work has ended with, under this token.
v1::LeaseResult ResultOf(uint64_t token, const absl::StatusOr<std::string>& outcome);

EpochId EpochOf(const v1::EpochId& epoch);
std::vector<Member> MembersOf(const v1::JoinResponse& place);
// What a NodeCollective's answer does for the parts that it names; nullopt if it names none. Its
// answer is for AnswerOf().
std::optional<Delivery> DeliveryOf(const absl::StatusOr<Response>& reply);
// What a member's own call would have been answered with; nullopt where that is no such answer. Of
// a Gather only the root is answered with payloads.
std::optional<Response> AnswerOf(CollectiveKind kind, bool is_root, const std::string& answer);
// The payloads of the answer to a collective, all together.
size_t PayloadBytesOf(const Response& response);
// As ControlPlane::RunCollective() returns them.
std::vector<std::string> PayloadsOf(Response response);
absl::StatusOr<std::string> OutcomeOf(const v1::LeaseResult& result);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_H_
