#ifndef MUSTER_SERVER_CORE_API_INPUT_H_
#define MUSTER_SERVER_CORE_API_INPUT_H_

#include <string>
#include <variant>

#include "common/rpc/type_list.h"
#include "server/core/api/requests.h"
#include "server/core/api/store_messages.h"

namespace muster::core {

// The caller of a parked call has gone. The call is withdrawn without a reply. Unknown ids are
// ignored.
struct CallCancelled {};
// The other side has ended an Attach stream or a store stream. Unknown ids are ignored.
struct StreamClosed {};
// NextDeadline() may have passed. The step does what is due.
struct DeadlineReached {};
// The daemon is about to stop. Every parked call and stream ends with UNAVAILABLE and this reason,
// and so does every new one from now on.
struct DrainBegun {
  std::string reason;
};
// A HangDiagnoser has found out why members wait. The log and the timeline get this text, and
// nothing else changes.
struct VerdictFound {
  std::string text;
};

// The calls of an attached member. Each has a CallContext, and is deferred while the coordinator
// recovers.
using MemberCalls = TypeList<JoinRequest, RejoinRequest, LeaveRequest, StopRequest,
                             CollectiveRequest, WithdrawRequest, ReleaseRequest, CommitReport,
                             AcquireLeaseRequest, CompleteLeaseRequest, AbandonLeaseRequest>;
using MemberCall = MemberCalls::Into<std::variant>;

// The inputs of a step.
using Inputs = decltype(TypeList<CallCancelled, StreamClosed, DeadlineReached, DrainBegun,
                                 VerdictFound, AttachRequest>() +
                        MemberCalls() +
                        TypeList<NodeCollectiveRequest, ExitReport, ProcessStateReport,
                                 StoreRequest, StoreLeft>());
using Input = Inputs::Into<std::variant>;

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_INPUT_H_
