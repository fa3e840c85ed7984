#ifndef MUSTER_CLIENT_SRC_PROTOCOL_EFFECTS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_EFFECTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/base/steady_clock.h"
#include "client/src/node/contribution.h"
#include "client/src/protocol/epoch_id.h"
#include "client/src/protocol/requests.h"
#include "muster/log.h"

// What a step of a MemberCore asks its surroundings to do.
namespace muster::internal {

// A call of the program, as the surroundings name it. Never reused; 0 is no call.
using CallId = uint64_t;

// Sends a unary call, which must end with exactly one MemberCore::OnReply(); without a limit of its
// own: a call that takes too long is cancelled.
struct SendCall {
  uint64_t attempt = 0;
  Request request;
};

// Opens an Attach stream, which must end with exactly one MemberCore::OnStreamEnd().
struct OpenStream {
  uint64_t attempt = 0;
  v1::AttachRequest request;
};

// The reply to a call, or the stream, is not wanted any more: the coordinator should withdraw it.
// Nothing happens if it has ended.
struct CancelSend {
  uint64_t attempt = 0;
};

// The member is in this epoch, and is not the only one on its node: they may meet there
// (NodeSegment in client/src/node). What was entered before is left.
struct EnterNode {
  std::string job_id;
  EpochId epoch;
  std::string node_id;
  uint32_t members = 0;  // of the node, in the order of their ranks
  uint32_t self = 0;     // this one among them
};

// Those of a node's members that are in one group.
struct NodeGroup {
  uint64_t name = 0;              // a digest of the group's name and ranks
  std::vector<uint32_t> members;  // indices among the node's, in growing order; this member too
};

// Arrives at a collective by way of the node (Meeting in client/src/node): with others, one of whom
// sends for all. Must end with exactly one MemberCore::OnMet(); it ends soon once it was left.
// Where there is no segment, or not all have it yet: MeetingEnd::kCallAlone, unsent.
struct MeetAtNode {
  CallId call = 0;
  std::shared_ptr<const NodeGroup> group;
  Contribution contribution;  // its attempt names the meeting
  SteadyTime deadline;
};

// The member does not wait for what comes of a meeting any more, and nobody must send its arrival
// from now on who has not taken it yet.
struct LeaveMeeting {
  uint64_t attempt = 0;
};

// The member calls by itself at this number: those whom it would meet need not wait for it.
struct PassNode {
  std::shared_ptr<const NodeGroup> group;
  uint64_t sequence = 0;
};

// The group is closed: nobody meets in its place any more, since a later group of the same ranks
// would find there what was left behind.
struct LeaveNodeGroup {
  uint64_t name = 0;  // NodeGroup::name
};

struct WriteLog {
  LogLevel level = LogLevel::kInfo;
  std::string line;
};

using Output = std::variant<SendCall, OpenStream, CancelSend, EnterNode, MeetAtNode, LeaveMeeting,
                            PassNode, LeaveNodeGroup, WriteLog>;

// Ends a call of the program.
struct Completion {
  CallId call = 0;
  absl::StatusOr<Response> reply;
};

struct Effects {
  std::vector<Output> outputs;  // to be done in this order
  std::vector<Completion> completions;
  // Something has changed that programs may be waiting for beside their calls:
  // MemberCore::HealthOf().
  bool news = false;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_EFFECTS_H_
