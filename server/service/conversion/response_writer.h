#ifndef MUSTER_SERVER_SERVICE_CONVERSION_RESPONSE_WRITER_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_RESPONSE_WRITER_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/api/types.h"

// Conversions of the parts that answers and events of the wire share.
namespace muster::service {

void ToProto(absl::Duration in, google::protobuf::Duration* out);
void ToProto(absl::Time in, google::protobuf::Timestamp* out);

v1::MemberState Convert(core::MemberState state);

void Fill(const core::EpochId& in, v1::EpochId* out);
void Fill(const core::MemberIdentity& in, v1::MemberIdentity* out);
void Fill(const core::GroupName& in, v1::Group* out);
void Fill(const core::RosterEntry& in, v1::RosterEntry* out);
void Fill(const core::Failure& in, core::Time now, v1::Failure* out);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_RESPONSE_WRITER_H_
