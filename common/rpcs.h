#ifndef MUSTER_COMMON_RPCS_H_
#define MUSTER_COMMON_RPCS_H_

#include <type_traits>

#include "muster/v1/coordinator.pb.h"

// The rpcs of CoordinatorService, one row each, in the order of coordinator.proto. The daemon, the
// SDK and the launcher derive from it whatever they need for every rpc, so a new rpc is a new row.
//
//   Rpc<v1::JoinRequest>::Response      v1::JoinResponse
//   Rpc<v1::JoinRequest>::kName         "Join"
//   Rpc<v1::JoinRequest>::kCaller       RpcCaller::kMember
//   Rpc<v1::JoinRequest>::kStreams      false
//   MemberRequests::Into<std::variant>  std::variant<v1::JoinRequest, v1::RejoinRequest, ...>
//
// MUSTER_RPCS(UNARY, STREAM) expands UNARY(name, caller) for every unary rpc and
// STREAM(name, caller) for every rpc that answers with a stream. It is for code that must spell
// the rpc's name, such as a method of the generated stub; other code uses the templates below.
#define MUSTER_RPCS(UNARY, STREAM)     \
  STREAM(Attach, kMember)              \
  UNARY(Join, kMember)                 \
  UNARY(Rejoin, kMember)               \
  UNARY(Barrier, kMember)              \
  UNARY(Broadcast, kMember)            \
  UNARY(Gather, kMember)               \
  UNARY(AllGather, kMember)            \
  UNARY(NodeCollective, kMember)       \
  UNARY(WithdrawArrival, kMember)      \
  UNARY(ReleaseGroups, kMember)        \
  UNARY(AcquireLease, kMember)         \
  UNARY(CompleteLease, kMember)        \
  UNARY(AbandonLease, kMember)         \
  UNARY(Leave, kMember)                \
  UNARY(ReportExit, kLauncher)         \
  UNARY(ReportProcessState, kLauncher) \
  UNARY(RequestStop, kMember)          \
  UNARY(GetStatus, kAnybody)           \
  UNARY(RequestInquiry, kAnybody)      \
  UNARY(ReportInquiry, kLauncher)      \
  UNARY(GetInquiry, kAnybody)

namespace muster {

// The kind of process that makes a call.
enum class RpcCaller {
  kMember,    // a process with a session; all but Attach carry a CallContext
  kLauncher,  // a process that starts and watches members
  kAnybody,   // any process with the job's credentials
};

// The rpc that takes this request. It is incomplete for every other type, so code that needs a row
// does not compile without one.
template <typename Request>
struct Rpc;

#define MUSTER_ROW(name, caller, streams)                   \
  template <>                                               \
  struct Rpc<v1::name##Request> {                           \
    using Response = v1::name##Response;                    \
    static constexpr char kName[] = #name;                  \
    static constexpr RpcCaller kCaller = RpcCaller::caller; \
    static constexpr bool kStreams = streams;               \
  };
#define MUSTER_UNARY_ROW(name, caller) MUSTER_ROW(name, caller, false)
#define MUSTER_STREAM_ROW(name, caller) MUSTER_ROW(name, caller, true)
MUSTER_RPCS(MUSTER_UNARY_ROW, MUSTER_STREAM_ROW)
#undef MUSTER_STREAM_ROW
#undef MUSTER_UNARY_ROW
#undef MUSTER_ROW

template <typename Request>
using ResponseOf = typename Rpc<Request>::Response;

// A list of types. Each member below is another type that is made of the same types.
template <typename... Types>
struct TypeList {
  // Into<std::variant> is std::variant<Types...>.
  template <template <typename...> class Template>
  using Into = Template<Types...>;
  // Map<ResponseOf> is the list of the responses, at the same places as their requests.
  template <template <typename> class Function>
  using Map = TypeList<Function<Types>...>;
};

template <typename... First, typename... Second>
TypeList<First..., Second...> operator+(TypeList<First...>, TypeList<Second...>);

#define MUSTER_PLUS_REQUEST(name, caller) +TypeList<v1::name##Request>()
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

#endif  // MUSTER_COMMON_RPCS_H_
