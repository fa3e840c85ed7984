#ifndef MUSTER_COMMON_RPC_RPCS_H_
#define MUSTER_COMMON_RPC_RPCS_H_

#include <type_traits>

#include "common/rpc/rpc_table.h"
#include "common/rpc/type_list.h"
#include "muster/v1/coordinator.pb.h"

// The rows of the table of rpcs, as templates over the type of the request.
//
//   Rpc<v1::JoinRequest>::Response      v1::JoinResponse
//   Rpc<v1::JoinRequest>::kName         "Join"
//   Rpc<v1::JoinRequest>::kCaller       RpcCaller::kMember
//   Rpc<v1::JoinRequest>::kPayloads     RpcPayloads::kNone
//   Rpc<v1::JoinRequest>::kStreams      false
//   MemberRequests::Into<std::variant>  std::variant<v1::JoinRequest, v1::RejoinRequest, ...>
namespace muster {

// The rpc that takes this request. It is incomplete for every other type, so code that needs a row
// does not compile without one.
template <typename Request>
struct Rpc;

#define MUSTER_ROW(name, caller, payloads, streams)                 \
  template <>                                                       \
  struct Rpc<v1::name##Request> {                                   \
    using Response = v1::name##Response;                            \
    static constexpr char kName[] = #name;                          \
    static constexpr RpcCaller kCaller = RpcCaller::caller;         \
    static constexpr RpcPayloads kPayloads = RpcPayloads::payloads; \
    static constexpr bool kStreams = streams;                       \
  };
#define MUSTER_UNARY_ROW(name, caller, request, kind, payloads) \
  MUSTER_ROW(name, caller, payloads, false)
#define MUSTER_STREAM_ROW(name, caller, request, kind, payloads) \
  MUSTER_ROW(name, caller, payloads, true)
MUSTER_RPCS(MUSTER_UNARY_ROW, MUSTER_STREAM_ROW)
#undef MUSTER_STREAM_ROW
#undef MUSTER_UNARY_ROW
#undef MUSTER_ROW

template <typename Request>
using ResponseOf = typename Rpc<Request>::Response;

#define MUSTER_PLUS_REQUEST(name, ...) +TypeList<v1::name##Request>()
using AllRequests = decltype(TypeList<>() MUSTER_RPCS(MUSTER_PLUS_REQUEST, MUSTER_PLUS_REQUEST));
#undef MUSTER_PLUS_REQUEST

template <RpcCaller caller, typename... Requests>
auto SelectUnary(TypeList<Requests...>)
    -> decltype((TypeList<>() + ... +
                 std::conditional_t<Rpc<Requests>::kCaller == caller && !Rpc<Requests>::kStreams,
                                    TypeList<Requests>, TypeList<>>()));

// The requests of the unary rpcs that this kind of process calls.
template <RpcCaller caller>
using UnaryRequestsOf = decltype(SelectUnary<caller>(AllRequests()));

using MemberRequests = UnaryRequestsOf<RpcCaller::kMember>;

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_RPCS_H_
