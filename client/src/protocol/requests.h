#ifndef MUSTER_CLIENT_SRC_PROTOCOL_REQUESTS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_REQUESTS_H_

#include <variant>

#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// The unary calls of an attached member. A response stands at the place of its request.
using Request = std::variant<v1::JoinRequest, v1::BarrierRequest, v1::BroadcastRequest,
                             v1::GatherRequest, v1::AllGatherRequest, v1::AcquireLeaseRequest,
                             v1::CompleteLeaseRequest, v1::AbandonLeaseRequest, v1::LeaveRequest,
                             v1::RejoinRequest, v1::RequestStopRequest, v1::NodeCollectiveRequest,
                             v1::WithdrawArrivalRequest, v1::ReleaseGroupsRequest>;
using Response =
    std::variant<v1::JoinResponse, v1::BarrierResponse, v1::BroadcastResponse, v1::GatherResponse,
                 v1::AllGatherResponse, v1::AcquireLeaseResponse, v1::CompleteLeaseResponse,
                 v1::AbandonLeaseResponse, v1::LeaveResponse, v1::RejoinResponse,
                 v1::RequestStopResponse, v1::NodeCollectiveResponse, v1::WithdrawArrivalResponse,
                 v1::ReleaseGroupsResponse>;

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_REQUESTS_H_
