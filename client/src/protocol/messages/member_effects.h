#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_EFFECTS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_EFFECTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/base/steady_clock.h"
#include "client/src/node/contribution.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "client/src/protocol/messages/member_requests.h"
#include "muster/log.h"

// The effects of one step of a MemberCore: what the control plane must do next.
namespace muster::internal {

// The id of a call of the program. The caller chooses ids and never reuses one. 0 is no call.
using CallId = uint64_t;

// A unary call to send, which must end with exactly one MemberCore::OnReply(). It has no gRPC
// deadline: the core cancels it when it takes too long.
struct SendCall {
  uint64_t attempt = 0;
  Request request;
};

// An Attach stream to open, which must end with exactly one MemberCore::OnStreamEnd().
struct OpenStream {
  uint64_t attempt = 0;
  v1::AttachRequest request;
};

// A call or stream to cancel, so that the coordinator withdraws it. No effect if it has ended.
struct CancelSend {
  uint64_t attempt = 0;
};

// The epoch whose segment on this node is to be entered (NodeSegment in client/src/node). Any
// earlier one is left. Sent if other members of the epoch are on this node.
struct EnterNode {
  std::string job_id;
  EpochId epoch;
  std::string node_id;
  uint32_t members = 0;           // on this node, in the order of their ranks
  uint32_t self = 0;              // this member's index among them
  uint32_t max_answer_bytes = 0;  // of an answer that goes through the node's memory
};

// The members of a node that are in one group.
struct NodeGroup {
  uint64_t name = 0;              // a digest of the group's name and ranks
  std::vector<uint32_t> members;  // ascending indices among the node's members, including this one
};

// An arrival at a collective with node fan-in (FanInRound in client/src/node). Must end with
// exactly one MemberCore::OnFanInEnd(), soon after a LeaveFanIn. Without a segment that all members
// have mapped, end it with FanInEnd::kCallAlone and `unsent`.
struct StartFanIn {
  CallId call = 0;
  std::shared_ptr<const NodeGroup> group;
  Contribution contribution;  // its attempt identifies the round
  SteadyTime deadline;
};

// A round whose arrival is to be revoked. The member no longer waits for the result, and no
// member may take the arrival from now on.
struct LeaveFanIn {
  uint64_t attempt = 0;
};

// A number at which this member makes its own call, so that the other members of the node do not
// wait for it.
struct SkipFanIn {
  std::shared_ptr<const NodeGroup> group;
  uint64_t sequence = 0;
};

// A closed group whose slots must not be used again. Otherwise a later group of the same name and
// ranks would find old arrivals there.
struct RetireFanInGroup {
  uint64_t name = 0;  // NodeGroup::name
};

struct WriteLog {
  LogLevel level = LogLevel::kInfo;
  std::string line;
};

using Output = std::variant<SendCall, OpenStream, CancelSend, EnterNode, StartFanIn, LeaveFanIn,
                            SkipFanIn, RetireFanInGroup, WriteLog>;

// The end of a call of the program.
struct Completion {
  CallId call = 0;
  absl::StatusOr<Response> reply;
};

struct Effects {
  std::vector<Output> outputs;  // to be carried out in this order
  std::vector<Completion> completions;
  // Health, newcomers or a stop request may have changed: wake threads that wait for more than
  // their call (MemberCore::HealthOf()).
  bool state_changed = false;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_EFFECTS_H_
