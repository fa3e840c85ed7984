#ifndef MUSTER_SERVER_SERVICE_REQUEST_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_REQUEST_CONVERSION_H_

#include "absl/status/statusor.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/types.h"

// From the wire to the core. INVALID_ARGUMENT names the first field that has no meaning in itself:
// a message that is missing, an enum or oneof that is not set, a duration out of range. What
// depends on the daemon's options or state is the core's to judge. Of what may
// be large nothing is copied: it is moved out of the message.
namespace muster::service {

absl::StatusOr<core::AttachRequest> FromProto(v1::AttachRequest&& in);
absl::StatusOr<core::JoinRequest> FromProto(const v1::JoinRequest& in);
absl::StatusOr<core::RejoinRequest> FromProto(v1::RejoinRequest&& in);
absl::StatusOr<core::CollectiveRequest> FromProto(v1::BarrierRequest&& in);
absl::StatusOr<core::CollectiveRequest> FromProto(v1::BroadcastRequest&& in);
absl::StatusOr<core::CollectiveRequest> FromProto(v1::GatherRequest&& in);
absl::StatusOr<core::CollectiveRequest> FromProto(v1::AllGatherRequest&& in);
absl::StatusOr<core::NodeCollectiveRequest> FromProto(v1::NodeCollectiveRequest&& in);
absl::StatusOr<core::WithdrawRequest> FromProto(const v1::WithdrawArrivalRequest& in);
absl::StatusOr<core::ReleaseRequest> FromProto(const v1::ReleaseGroupsRequest& in);
absl::StatusOr<core::AcquireLeaseRequest> FromProto(const v1::AcquireLeaseRequest& in);
absl::StatusOr<core::CompleteLeaseRequest> FromProto(v1::CompleteLeaseRequest&& in);
absl::StatusOr<core::AbandonLeaseRequest> FromProto(const v1::AbandonLeaseRequest& in);
absl::StatusOr<core::LeaveRequest> FromProto(const v1::LeaveRequest& in);
absl::StatusOr<core::StopRequest> FromProto(const v1::RequestStopRequest& in);
// In inquiry_conversion.cc.
absl::StatusOr<core::InquiryRequest> FromProto(const v1::RequestInquiryRequest& in);
absl::StatusOr<core::InquiryReport> FromProto(v1::ReportInquiryRequest&& in);
absl::StatusOr<core::InquiryQuestion> FromProto(const v1::GetInquiryRequest& in);
absl::StatusOr<core::ProcessStateReport> FromProto(const v1::ReportProcessStateRequest& in);
absl::StatusOr<core::ExitReport> FromProto(const v1::ReportExitRequest& in);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_REQUEST_CONVERSION_H_
