#ifndef MUSTER_COMMON_RPCS_H_
#define MUSTER_COMMON_RPCS_H_

#include <type_traits>

#include "common/type_list.h"
#include "muster/v1/coordinator.pb.h"

// The rpcs of CoordinatorService, one row each, in the order of coordinator.proto. The daemon, its
// journal, the SDK and the launcher derive from it whatever they need for every rpc, so a new rpc
// is a new row.
//
//   Rpc<v1::JoinRequest>::Response      v1::JoinResponse
//   Rpc<v1::JoinRequest>::kName         "Join"
//   Rpc<v1::JoinRequest>::kCaller       RpcCaller::kMember
//   Rpc<v1::JoinRequest>::kPayloads     RpcPayloads::kNone
//   Rpc<v1::JoinRequest>::kStreams      false
//   MemberRequests::Into<std::variant>  std::variant<v1::JoinRequest, v1::RejoinRequest, ...>
//
// MUSTER_RPCS(UNARY, STREAM) expands UNARY for every unary rpc and STREAM for every rpc that
// answers with a stream, each with
//
//   name      of the rpc, its request (v1::nameRequest) and its response (v1::nameResponse),
//   caller    an RpcCaller,
//   request   the type of muster::core that the daemon reads the request into; one that
//             core::Input holds becomes a step of the coordinator,
//   kind      of such a step in a journal, INPUT_KIND_kind; UNSPECIFIED: no journal holds it,
//   payloads  an RpcPayloads.
//
// It is for code that must spell one of these; other code uses the templates below.
#define MUSTER_RPCS(UNARY, STREAM)                                                      \
  STREAM(Attach, kMember, AttachRequest, ATTACH, kInClaim)                              \
  UNARY(Join, kMember, JoinRequest, JOIN, kNone)                                        \
  UNARY(Rejoin, kMember, RejoinRequest, REJOIN, kInClaim)                               \
  UNARY(Barrier, kMember, CollectiveRequest, BARRIER, kNone)                            \
  UNARY(Broadcast, kMember, CollectiveRequest, BROADCAST, kPayload)                     \
  UNARY(Gather, kMember, CollectiveRequest, GATHER, kPayload)                           \
  UNARY(AllGather, kMember, CollectiveRequest, ALL_GATHER, kPayload)                    \
  UNARY(NodeCollective, kMember, NodeCollectiveRequest, NODE_COLLECTIVE, kInParts)      \
  UNARY(WithdrawArrival, kMember, WithdrawRequest, WITHDRAW_ARRIVAL, kNone)             \
  UNARY(ReleaseGroups, kMember, ReleaseRequest, RELEASE_GROUPS, kNone)                  \
  UNARY(AcquireLease, kMember, AcquireLeaseRequest, ACQUIRE_LEASE, kNone)               \
  UNARY(CompleteLease, kMember, CompleteLeaseRequest, COMPLETE_LEASE, kResult)          \
  UNARY(AbandonLease, kMember, AbandonLeaseRequest, ABANDON_LEASE, kNone)               \
  UNARY(Leave, kMember, LeaveRequest, LEAVE, kNone)                                     \
  UNARY(ReportExit, kLauncher, ExitReport, REPORT_EXIT, kNone)                          \
  UNARY(ReportProcessState, kLauncher, ProcessStateReport, REPORT_PROCESS_STATE, kNone) \
  UNARY(RequestStop, kMember, StopRequest, REQUEST_STOP, kNone)                         \
  UNARY(GetStatus, kAnybody, StatusQuestion, UNSPECIFIED, kNone)                        \
  UNARY(RequestInquiry, kAnybody, InquiryRequest, UNSPECIFIED, kNone)                   \
  UNARY(ReportInquiry, kLauncher, InquiryReport, UNSPECIFIED, kNone)                    \
  UNARY(GetInquiry, kAnybody, InquiryQuestion, UNSPECIFIED, kNone)

namespace muster {

// The kind of process that makes a call.
enum class RpcCaller {
  kMember,    // a process with a session; all but Attach carry a CallContext
  kLauncher,  // a process that starts and watches members
  kAnybody,   // any process with the job's credentials
};

// Where a request holds bytes of the program, of which a journal keeps the size and a keyed
// fingerprint only. A field named `secret` needs no column: a journal keeps none of them.
enum class RpcPayloads {
  kNone,
  kPayload,  // in its field `payload`
  kInParts,  // in the payload of each of its `parts`
  kResult,   // in its lease `result`
  kInClaim,  // in the results of its claim's completed leases
};

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

#endif  // MUSTER_COMMON_RPCS_H_
