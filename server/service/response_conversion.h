#ifndef MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/options.h"
#include "server/core/types.h"

// From the core to the wire. `answer` must be of the kind that the response's call is answered
// with.
namespace muster::service {

void ToProto(const core::Answer& answer, v1::JoinResponse* out);
void ToProto(const core::Answer& answer, v1::BroadcastResponse* out);
void ToProto(const core::Answer& answer, v1::GatherResponse* out);
void ToProto(const core::Answer& answer, v1::AllGatherResponse* out);
void ToProto(const core::Answer& answer, v1::AcquireLeaseResponse* out);
inline void ToProto(const core::Answer&, v1::BarrierResponse*) {}
inline void ToProto(const core::Answer&, v1::CompleteLeaseResponse*) {}
inline void ToProto(const core::Answer&, v1::AbandonLeaseResponse*) {}
inline void ToProto(const core::Answer&, v1::LeaveResponse*) {}
inline void ToProto(const core::Answer&, v1::ReportExitResponse*) {}

void ToProto(absl::Duration in, google::protobuf::Duration* out);

// `options` are the daemon's, part of which every member is told.
v1::AttachResponse ToProto(const core::Attached& event, const core::Options& options);
// Ages are as of `now`.
v1::AttachResponse ToProto(const core::EpochBroken& event, core::Time now);

// All but job id, daemon version and uptime, which the core's status does not hold.
void ToProto(const core::JobStatus& status, core::Time now, v1::GetStatusResponse* out);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_RESPONSE_CONVERSION_H_
