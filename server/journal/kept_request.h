#ifndef MUSTER_SERVER_JOURNAL_KEPT_REQUEST_H_
#define MUSTER_SERVER_JOURNAL_KEPT_REQUEST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "common/process_secret.h"
#include "muster/v1/coordinator.pb.h"
#include "server/journal/journal.pb.h"

namespace muster::journal {

// What a journal keeps of a payload.
struct PayloadMark {
  uint64_t size = 0;
  uint64_t fingerprint = 0;
};

// What a journal keeps of a request: all but what payloads hold, and the secrets of processes.
struct KeptRequest {
  InputKind kind = INPUT_KIND_UNSPECIFIED;
  std::string bytes;
  std::vector<PayloadMark> payloads;  // in the order of ForEachPayload; none: all are empty
  std::string incarnation;            // whose secret it had; empty: none
};

// Makes fingerprints: equal ones of equal payloads, and others of others. Nobody who reads one can
// try out what the payload may have been, since it depends on a key that the object alone knows.
class Fingerprints {
 public:
  Fingerprints();
  // 0 if it is empty.
  uint64_t Of(absl::string_view payload) const;

 private:
  const std::string key_;
};

constexpr InputKind KindOf(const v1::AttachRequest*) { return INPUT_KIND_ATTACH; }
constexpr InputKind KindOf(const v1::JoinRequest*) { return INPUT_KIND_JOIN; }
constexpr InputKind KindOf(const v1::RejoinRequest*) { return INPUT_KIND_REJOIN; }
constexpr InputKind KindOf(const v1::BarrierRequest*) { return INPUT_KIND_BARRIER; }
constexpr InputKind KindOf(const v1::BroadcastRequest*) { return INPUT_KIND_BROADCAST; }
constexpr InputKind KindOf(const v1::GatherRequest*) { return INPUT_KIND_GATHER; }
constexpr InputKind KindOf(const v1::AllGatherRequest*) { return INPUT_KIND_ALL_GATHER; }
constexpr InputKind KindOf(const v1::NodeCollectiveRequest*) { return INPUT_KIND_NODE_COLLECTIVE; }
constexpr InputKind KindOf(const v1::WithdrawArrivalRequest*) {
  return INPUT_KIND_WITHDRAW_ARRIVAL;
}
constexpr InputKind KindOf(const v1::ReleaseGroupsRequest*) { return INPUT_KIND_RELEASE_GROUPS; }
constexpr InputKind KindOf(const v1::AcquireLeaseRequest*) { return INPUT_KIND_ACQUIRE_LEASE; }
constexpr InputKind KindOf(const v1::CompleteLeaseRequest*) { return INPUT_KIND_COMPLETE_LEASE; }
constexpr InputKind KindOf(const v1::AbandonLeaseRequest*) { return INPUT_KIND_ABANDON_LEASE; }
constexpr InputKind KindOf(const v1::LeaveRequest*) { return INPUT_KIND_LEAVE; }
constexpr InputKind KindOf(const v1::RequestStopRequest*) { return INPUT_KIND_REQUEST_STOP; }
constexpr InputKind KindOf(const v1::ReportExitRequest*) { return INPUT_KIND_REPORT_EXIT; }
constexpr InputKind KindOf(const v1::ReportProcessStateRequest*) {
  return INPUT_KIND_REPORT_PROCESS_STATE;
}

// Calls `visit` with each field of the request that holds a payload, in an order that the message
// alone decides.
using PayloadVisitor = absl::FunctionRef<void(std::string*)>;
void ForEachPayload(v1::AttachRequest* request, PayloadVisitor visit);
void ForEachPayload(v1::RejoinRequest* request, PayloadVisitor visit);
void ForEachPayload(v1::BroadcastRequest* request, PayloadVisitor visit);
void ForEachPayload(v1::GatherRequest* request, PayloadVisitor visit);
void ForEachPayload(v1::AllGatherRequest* request, PayloadVisitor visit);
void ForEachPayload(v1::NodeCollectiveRequest* request, PayloadVisitor visit);
void ForEachPayload(v1::CompleteLeaseRequest* request, PayloadVisitor visit);
template <typename Request>
void ForEachPayload(Request*, PayloadVisitor) {}

// The process's secret; null where a request has none.
inline std::string* SecretOf(v1::AttachRequest* request) { return request->mutable_secret(); }
inline std::string* SecretOf(v1::ReportExitRequest* request) { return request->mutable_secret(); }
inline std::string* SecretOf(v1::ReportProcessStateRequest* request) {
  return request->mutable_secret();
}
template <typename Request>
std::string* SecretOf(Request*) {
  return nullptr;
}

// Keeps what a journal may of a request. `raw`: the bytes that it was parsed from, which are kept
// as they are where nothing must be left out; empty: it is encoded again. The message is as it was
// at return.
template <typename Request>
KeptRequest Keep(Request* request, std::string raw, const Fingerprints& fingerprints) {
  KeptRequest kept;
  kept.kind = KindOf(request);
  std::vector<std::string> taken;
  bool all_kept = true;
  const auto take = [&](std::string* field) {
    all_kept &= field->empty();
    taken.emplace_back().swap(*field);
  };
  ForEachPayload(request, [&](std::string* payload) {
    kept.payloads.push_back({payload->size(), fingerprints.Of(*payload)});
    take(payload);
  });
  if (all_kept) kept.payloads.clear();
  std::string* const secret = SecretOf(request);
  if (secret != nullptr) {
    kept.incarnation = muster::IncarnationOf(*secret);
    take(secret);
  }
  kept.bytes = all_kept && !raw.empty() ? std::move(raw) : request->SerializeAsString();
  auto content = taken.begin();
  ForEachPayload(request, [&](std::string* payload) { payload->swap(*content++); });
  if (secret != nullptr) secret->swap(*content);
  return kept;
}

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_KEPT_REQUEST_H_
