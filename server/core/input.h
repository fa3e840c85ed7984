#ifndef MUSTER_SERVER_CORE_INPUT_H_
#define MUSTER_SERVER_CORE_INPUT_H_

#include <string>
#include <variant>

#include "common/type_list.h"
#include "server/core/requests.h"

namespace muster::core {

// The caller of a parked call has gone: the call is withdrawn without a reply. Unknown ids are
// ignored.
struct CallCancelled {};
// An Attach stream was ended by the other side. Unknown ids are ignored.
struct StreamClosed {};
// NextDeadline() may have come: what is due is done.
struct DeadlineReached {};
// The daemon is about to stop: every parked call and stream ends, and so does every new one from
// now on, with UNAVAILABLE and this reason.
struct DrainBegun {
  std::string reason;
};
// An InquiryDesk has found out why somebody waits: the log and the timeline get this text, and
// nothing else changes.
struct VerdictFound {
  std::string text;
};

// The calls of an attached member. Each has a CallContext, and is deferred while the coordinator
// recovers.
using MemberCalls = TypeList<JoinRequest, RejoinRequest, LeaveRequest, StopRequest,
                             CollectiveRequest, WithdrawRequest, ReleaseRequest,
                             AcquireLeaseRequest, CompleteLeaseRequest, AbandonLeaseRequest>;
using MemberCall = MemberCalls::Into<std::variant>;

// What one step of a Coordinator takes in, beside the time.
using Inputs =
    decltype(TypeList<CallCancelled, StreamClosed, DeadlineReached, DrainBegun, VerdictFound,
                      AttachRequest>() +
             MemberCalls() + TypeList<NodeCollectiveRequest, ExitReport, ProcessStateReport>());
using Input = Inputs::Into<std::variant>;

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_INPUT_H_
