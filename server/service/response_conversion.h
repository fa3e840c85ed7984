#ifndef MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_

#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/timeline.h"
#include "server/core/types.h"
#include "server/service/pieces.h"

// From the core to the wire. `answer` must be of the kind that the response's call is answered
// with.
//
// An answer has two parts, whose encodings protobuf reads as one message when they follow each
// other: what it shares with the answers to other ranks, and what is its own. So the roster of a
// large job, and the payloads, are encoded once and not copied for each rank.
namespace muster::service {

// The own part.

void ToProto(const core::Answer& answer, v1::JoinResponse* out);
void ToProto(const core::Answer& answer, v1::RejoinResponse* out);
void ToProto(const core::Answer& answer, v1::BarrierResponse* out);
void ToProto(const core::Answer& answer, v1::BroadcastResponse* out);
void ToProto(const core::Answer& answer, v1::GatherResponse* out);
void ToProto(const core::Answer& answer, v1::AllGatherResponse* out);
void ToProto(const core::Answer& answer, v1::NodeCollectiveResponse* out);
void ToProto(const core::Answer& answer, v1::AcquireLeaseResponse* out);
void ToProto(const core::Answer& answer, v1::ReportExitResponse* out);
void ToProto(const core::Answer& answer, v1::ReleaseGroupsResponse* out);
inline void ToProto(const core::Answer&, v1::WithdrawArrivalResponse*) {}
inline void ToProto(const core::Answer&, v1::CompleteLeaseResponse*) {}
inline void ToProto(const core::Answer&, v1::AbandonLeaseResponse*) {}
inline void ToProto(const core::Answer&, v1::LeaveResponse*) {}
inline void ToProto(const core::Answer&, v1::ReportProcessStateResponse*) {}
inline void ToProto(const core::Answer&, v1::RequestStopResponse*) {}
inline void ToProto(const core::Answer&, v1::ReportInquiryResponse*) {}
// In inquiry_conversion.cc.
void ToProto(const core::Answer& answer, v1::RequestInquiryResponse* out);
void ToProto(const core::Answer& answer, v1::GetInquiryResponse* out);
void ToProto(const core::InquiryStatus& status, v1::Inquiry* out);

// The shared part of the answer whose own part is `own`; empty where all is its own.
Pieces SharedPart(const core::Answer& answer, const v1::JoinResponse& own);
Pieces SharedPart(const core::Answer& answer, const v1::RejoinResponse& own);
Pieces SharedPart(const core::Answer& answer, const v1::BroadcastResponse& own);
Pieces SharedPart(const core::Answer& answer, const v1::GatherResponse& own);
Pieces SharedPart(const core::Answer& answer, const v1::AllGatherResponse& own);
Pieces SharedPart(const core::Answer& answer, const v1::NodeCollectiveResponse& own);
Pieces SharedPart(const core::Answer& answer, const v1::AcquireLeaseResponse& own);
inline Pieces SharedPart(const core::Answer&, const google::protobuf::Message&) { return {}; }

// Where to keep the shared part's encoding for the other answers that have it; null: nowhere.
core::EncodingSlot* SlotOf(const core::Answer& answer);

// The whole answer, as who called reads it; nullopt if it cannot be read.
template <typename Response>
std::optional<Response> Whole(const core::Answer& answer) {
  Response own;
  ToProto(answer, &own);
  std::string encoded;
  for (const core::Bytes& piece : SharedPart(answer, own)) encoded += *piece;
  own.AppendToString(&encoded);
  Response whole;
  if (!whole.ParseFromString(encoded)) return std::nullopt;
  return whole;
}

// All but job id, daemon version, uptime and timeline, which the core's status does not hold.
void ToProto(const core::JobStatus& status, core::Time now, v1::GetStatusResponse* out);
void ToProto(const std::vector<core::TimelineEntry>& timeline, core::Time now,
             v1::GetStatusResponse* out);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_
