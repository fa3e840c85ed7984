#ifndef MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_

#include "muster/v1/coordinator.pb.h"
#include "server/core/types.h"

// From the core to the wire. `answer` must be of the kind that the response's call is answered
// with.
namespace muster::service {

void ToProto(const core::Answer& answer, v1::JoinResponse* out);
void ToProto(const core::Answer& answer, v1::RejoinResponse* out);
void ToProto(const core::Answer& answer, v1::BarrierResponse* out);
void ToProto(const core::Answer& answer, v1::BroadcastResponse* out);
void ToProto(const core::Answer& answer, v1::GatherResponse* out);
void ToProto(const core::Answer& answer, v1::AllGatherResponse* out);
void ToProto(const core::Answer& answer, v1::AcquireLeaseResponse* out);
inline void ToProto(const core::Answer&, v1::CompleteLeaseResponse*) {}
inline void ToProto(const core::Answer&, v1::AbandonLeaseResponse*) {}
inline void ToProto(const core::Answer&, v1::LeaveResponse*) {}
inline void ToProto(const core::Answer&, v1::ReportExitResponse*) {}
inline void ToProto(const core::Answer&, v1::ReportProcessStateResponse*) {}
inline void ToProto(const core::Answer&, v1::RequestStopResponse*) {}

// All but job id, daemon version and uptime, which the core's status does not hold.
void ToProto(const core::JobStatus& status, core::Time now, v1::GetStatusResponse* out);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_
