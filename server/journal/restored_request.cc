#include "server/journal/restored_request.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process_secret.h"
#include "muster/v1/coordinator.pb.h"
#include "server/journal/kept_request.h"
#include "server/service/request_conversion.h"

namespace muster::journal {
namespace {

absl::Status Unreadable(const Step& step, absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("a ", InputKind_Name(step.kind()), " of the journal cannot be read: ", why));
}

// The secret is not kept: another one takes its place until the request has been read, and whose
// the kept incarnation says.
std::string StandInSecret() { return std::string(kProcessSecretBytes, '\1'); }

void ActAsOwner(v1::AttachRequest* request) {
  request->mutable_member()->set_incarnation(IncarnationOf(request->secret()));
}
template <typename Wire>
void ActAsOwner(Wire*) {}

void SetOwner(const std::string& owner, core::AttachRequest* request) {
  request->member.incarnation = owner;
}
void SetOwner(const std::string& owner, core::ExitReport* report) { report->incarnation = owner; }
void SetOwner(const std::string& owner, core::ProcessStateReport* report) {
  report->incarnation = owner;
}
template <typename CoreRequest>
void SetOwner(const std::string&, CoreRequest*) {}

template <typename Wire>
absl::Status PutPayloads(const Step& step, StandIns* stand_ins, Wire* message) {
  int next = 0;
  absl::Status status;
  ForEachPayload(message, [&](std::string* payload) {
    if (next >= step.payloads_size() || !status.ok()) return;
    const Payload& mark = step.payloads(next++);
    absl::StatusOr<std::string> stand_in = stand_ins->For({mark.size_bytes(), mark.fingerprint()});
    status = stand_in.status();
    if (stand_in.ok()) *payload = *std::move(stand_in);
  });
  return status;
}

template <typename Wire>
absl::StatusOr<Request> RestoreAs(const Step& step, StandIns* stand_ins) {
  Wire message;
  if (!message.ParseFromString(step.request())) return Unreadable(step, "its bytes are no message");
  if (std::string* const secret = SecretOf(&message); secret != nullptr) {
    *secret = StandInSecret();
    ActAsOwner(&message);
  }
  if (absl::Status s = PutPayloads(step, stand_ins, &message); !s.ok()) return s;
  auto read = service::FromProto(std::move(message));
  if (!read.ok()) return Unreadable(step, read.status().message());
  SetOwner(step.incarnation(), &*read);
  return Request(*std::move(read));
}

}  // namespace

absl::StatusOr<Request> Restore(const Step& step, StandIns* stand_ins) {
  switch (step.kind()) {
    case INPUT_KIND_ATTACH:
      return RestoreAs<v1::AttachRequest>(step, stand_ins);
    case INPUT_KIND_JOIN:
      return RestoreAs<v1::JoinRequest>(step, stand_ins);
    case INPUT_KIND_REJOIN:
      return RestoreAs<v1::RejoinRequest>(step, stand_ins);
    case INPUT_KIND_BARRIER:
      return RestoreAs<v1::BarrierRequest>(step, stand_ins);
    case INPUT_KIND_BROADCAST:
      return RestoreAs<v1::BroadcastRequest>(step, stand_ins);
    case INPUT_KIND_GATHER:
      return RestoreAs<v1::GatherRequest>(step, stand_ins);
    case INPUT_KIND_ALL_GATHER:
      return RestoreAs<v1::AllGatherRequest>(step, stand_ins);
    case INPUT_KIND_NODE_COLLECTIVE:
      return RestoreAs<v1::NodeCollectiveRequest>(step, stand_ins);
    case INPUT_KIND_WITHDRAW_ARRIVAL:
      return RestoreAs<v1::WithdrawArrivalRequest>(step, stand_ins);
    case INPUT_KIND_RELEASE_GROUPS:
      return RestoreAs<v1::ReleaseGroupsRequest>(step, stand_ins);
    case INPUT_KIND_ACQUIRE_LEASE:
      return RestoreAs<v1::AcquireLeaseRequest>(step, stand_ins);
    case INPUT_KIND_COMPLETE_LEASE:
      return RestoreAs<v1::CompleteLeaseRequest>(step, stand_ins);
    case INPUT_KIND_ABANDON_LEASE:
      return RestoreAs<v1::AbandonLeaseRequest>(step, stand_ins);
    case INPUT_KIND_LEAVE:
      return RestoreAs<v1::LeaveRequest>(step, stand_ins);
    case INPUT_KIND_REQUEST_STOP:
      return RestoreAs<v1::RequestStopRequest>(step, stand_ins);
    case INPUT_KIND_REPORT_EXIT:
      return RestoreAs<v1::ReportExitRequest>(step, stand_ins);
    case INPUT_KIND_REPORT_PROCESS_STATE:
      return RestoreAs<v1::ReportProcessStateRequest>(step, stand_ins);
    case INPUT_KIND_CANCEL:
    case INPUT_KIND_STREAM_CLOSED:
    case INPUT_KIND_DRAIN:
    case INPUT_KIND_TICK:
    case INPUT_KIND_VERDICT:
      return Request();
    default:
      return absl::DataLossError(
          absl::StrCat("the journal has a step of an unknown kind, ", step.kind()));
  }
}

}  // namespace muster::journal
