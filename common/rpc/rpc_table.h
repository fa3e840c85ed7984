#ifndef MUSTER_COMMON_RPC_RPC_TABLE_H_
#define MUSTER_COMMON_RPC_RPC_TABLE_H_

// The table of the rpcs of CoordinatorService, one row each, in the order of coordinator.proto. The
// daemon, its journal, the SDK and the launcher derive from it what they need for every rpc, so a
// new rpc is a new row. Most code uses the templates of common/rpc/rpcs.h instead of the macro.
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
  UNARY(ReportCommits, kMember, CommitReport, REPORT_COMMITS, kNone)                    \
  UNARY(AcquireLease, kMember, AcquireLeaseRequest, ACQUIRE_LEASE, kNone)               \
  UNARY(CompleteLease, kMember, CompleteLeaseRequest, COMPLETE_LEASE, kResult)          \
  UNARY(AbandonLease, kMember, AbandonLeaseRequest, ABANDON_LEASE, kNone)               \
  UNARY(Leave, kMember, LeaveRequest, LEAVE, kNone)                                     \
  UNARY(ReportExit, kLauncher, ExitReport, REPORT_EXIT, kNone)                          \
  UNARY(ReportProcessState, kLauncher, ProcessStateReport, REPORT_PROCESS_STATE, kNone) \
  UNARY(RequestStop, kMember, StopRequest, REQUEST_STOP, kNone)                         \
  UNARY(GetStatus, kAnybody, StatusQuery, UNSPECIFIED, kNone)                           \
  UNARY(RequestInquiry, kAnybody, InquiryRequest, UNSPECIFIED, kNone)                   \
  UNARY(ReportInquiry, kLauncher, InquiryReport, UNSPECIFIED, kNone)                    \
  UNARY(GetInquiry, kAnybody, InquiryQuery, UNSPECIFIED, kNone)

namespace muster {

// The kind of process that makes a call.
enum class RpcCaller {
  kMember,    // a process with a session; all but Attach carry a CallContext
  kLauncher,  // a process that starts and watches members
  kAnybody,   // any process with the job's credentials
};

// The fields of a request that hold bytes of the program. A journal keeps only their size and a
// keyed fingerprint. Fields named `secret` need no column: a journal never keeps them.
enum class RpcPayloads {
  kNone,
  kPayload,  // in its field `payload`
  kInParts,  // in the payload of each of its `parts`
  kResult,   // in its lease `result`
  kInClaim,  // in the results of its claim's completed leases
};

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_RPC_TABLE_H_
