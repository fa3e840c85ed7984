#ifndef MUSTER_COMMON_RPC_STREAMED_CALLS_H_
#define MUSTER_COMMON_RPC_STREAMED_CALLS_H_

#include "common/rpc/rpcs.h"
#include "muster/v1/calls.pb.h"

// The fields of CallService's messages, as templates over the type of the request. All unary calls
// of members have such fields.
//
//   StreamedCall<v1::JoinRequest>::In(&request)    request.mutable_join(), a v1::JoinRequest
//   StreamedCall<v1::JoinRequest>::In(&response)   response.mutable_join(), a v1::JoinResponse
//   StreamedCall<v1::JoinRequest>::kResponse       the number of that field
namespace muster {

// A row for each call: the rpc's name, and the name of its fields.
#define MUSTER_STREAMED_CALLS(ROW)       \
  ROW(Join, join)                        \
  ROW(Rejoin, rejoin)                    \
  ROW(Barrier, barrier)                  \
  ROW(Broadcast, broadcast)              \
  ROW(Gather, gather)                    \
  ROW(AllGather, all_gather)             \
  ROW(NodeCollective, node_collective)   \
  ROW(WithdrawArrival, withdraw_arrival) \
  ROW(ReleaseGroups, release_groups)     \
  ROW(ReportCommits, report_commits)     \
  ROW(AcquireLease, acquire_lease)       \
  ROW(CompleteLease, complete_lease)     \
  ROW(AbandonLease, abandon_lease)       \
  ROW(Leave, leave)                      \
  ROW(RequestStop, request_stop)

template <typename Request>
struct StreamedCall;

#define MUSTER_ROW(Name, name)                                                             \
  template <>                                                                              \
  struct StreamedCall<v1::Name##Request> {                                                 \
    static constexpr int kResponse = v1::CallResponse::k##Name##FieldNumber;               \
    static v1::Name##Request* In(v1::CallRequest* all) { return all->mutable_##name(); }   \
    static v1::Name##Response* In(v1::CallResponse* all) { return all->mutable_##name(); } \
  };
MUSTER_STREAMED_CALLS(MUSTER_ROW)
#undef MUSTER_ROW

#define MUSTER_PLUS_ONE(...) +1
static_assert(0 MUSTER_STREAMED_CALLS(MUSTER_PLUS_ONE) == MemberRequests::kSize,
              "a unary call of members is not in the table");
#undef MUSTER_PLUS_ONE

// Calls `visit` with a pointer to the request of a call, and returns true. Returns false if the
// message has none that is known.
template <typename Visit>
bool VisitRequest(v1::CallRequest* request, Visit visit) {
  switch (request->request_case()) {
#define MUSTER_CASE(Name, name)       \
  case v1::CallRequest::k##Name:      \
    visit(request->mutable_##name()); \
    return true;
    MUSTER_STREAMED_CALLS(MUSTER_CASE)
#undef MUSTER_CASE
    default:
      return false;
  }
}

}  // namespace muster

#endif  // MUSTER_COMMON_RPC_STREAMED_CALLS_H_
