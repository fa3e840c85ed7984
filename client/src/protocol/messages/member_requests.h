#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_REQUESTS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_REQUESTS_H_

#include <variant>

#include "common/rpc/rpcs.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// The unary calls of an attached member. A response has the same index as its request.
using Request = MemberRequests::Into<std::variant>;
using Response = MemberRequests::Map<ResponseOf>::Into<std::variant>;

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_MEMBER_REQUESTS_H_
