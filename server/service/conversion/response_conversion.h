#ifndef MUSTER_SERVER_SERVICE_CONVERSION_RESPONSE_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_RESPONSE_CONVERSION_H_

#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/message.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/api/types.h"
#include "server/core/statistics/timeline.h"
#include "server/service/conversion/message_chunks.h"

// Converts answers of the core to responses of the wire. `answer` must be of the kind that the
// response's rpc returns.
//
// An answer has two parts: the part that it shares with the answers to other ranks (the roster, the
// payloads), and its own part. Protobuf reads the concatenation of their encodings as one message.
// So the roster of a large job and the payloads are encoded once, and not copied for each rank.
namespace muster::service {

// Fills in the own part of an answer.

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
inline void ToProto(const core::Answer&, v1::ReportCommitsResponse*) {}
inline void ToProto(const core::Answer&, v1::ReportInquiryResponse*) {}
// Defined in inquiry_conversion.cc.
void ToProto(const core::Answer& answer, v1::RequestInquiryResponse* out);
void ToProto(const core::Answer& answer, v1::GetInquiryResponse* out);
void ToProto(const core::InquiryStatus& status, v1::Inquiry* out);

// Returns the shared part of the answer whose own part is `own`. Empty if nothing is shared.
MessageChunks SharedPart(const core::Answer& answer, const v1::JoinResponse& own);
MessageChunks SharedPart(const core::Answer& answer, const v1::RejoinResponse& own);
MessageChunks SharedPart(const core::Answer& answer, const v1::BroadcastResponse& own);
MessageChunks SharedPart(const core::Answer& answer, const v1::GatherResponse& own);
MessageChunks SharedPart(const core::Answer& answer, const v1::AllGatherResponse& own);
MessageChunks SharedPart(const core::Answer& answer, const v1::NodeCollectiveResponse& own);
MessageChunks SharedPart(const core::Answer& answer, const v1::AcquireLeaseResponse& own);
inline MessageChunks SharedPart(const core::Answer&, const google::protobuf::Message&) {
  return {};
}

// Returns the slot that keeps the encoding of the shared part for other answers, or null if there
// is no such slot.
core::EncodingSlot* SlotOf(const core::Answer& answer);

// Returns the whole answer as the caller reads it, or nullopt if it cannot be parsed.
template <typename Response>
std::optional<Response> WholeResponse(const core::Answer& answer) {
  Response own;
  ToProto(answer, &own);
  std::string encoded;
  for (const core::Bytes& chunk : SharedPart(answer, own)) encoded += *chunk;
  own.AppendToString(&encoded);
  Response whole;
  if (!whole.ParseFromString(encoded)) return std::nullopt;
  return whole;
}

// Fills in the status, except for job id, daemon version, uptime and timeline, which
// core::JobStatus does not contain.
void ToProto(const core::JobStatus& status, core::Time now, v1::GetStatusResponse* out);
void ToProto(const std::vector<core::TimelineEntry>& timeline, core::Time now,
             v1::GetStatusResponse* out);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_RESPONSE_CONVERSION_H_
