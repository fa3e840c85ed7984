#include "server/service/coordinator_service.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/service/attach_stream.h"
#include "server/service/raw_message.h"
#include "server/service/response_conversion.h"
#include "server/service/status.h"
#include "server/service/unary_call.h"
#include "server/service/writer.h"

namespace muster::service {

using core::Coordinator;
using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

namespace {

// Ends a call before anything of its request is looked at.
ServerUnaryReactor* Refuse(CallbackServerContext* context, const absl::Status& why) {
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(why));
  return reactor;
}

// The same of an Attach.
class RefusedStream final : public grpc::ServerWriteReactor<ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() noexcept override { delete this; }
};

// Starts the call of one rpc, whose step of the core is `step`.
template <typename Request, typename Response, typename Step>
ServerUnaryReactor* Start(const Host& host, CallbackServerContext* context,
                          const ByteBuffer& request, ByteBuffer* response, Step step) {
  if (absl::Status s = host.guard->Admit(*context); !s.ok()) return Refuse(context, s);
  journal::KeptRequest kept;
  const auto read = ReadRequest<Request>(request, host.driver->keeps(), &kept);
  return UnaryCall<Response>::Start(host, context, read, kept, response, step);
}

// The same of one that is no matter of the core's.
template <typename Request, typename Response, typename Step>
ServerUnaryReactor* StartAtDesk(const Host& host, CallbackServerContext* context,
                                const ByteBuffer& request, ByteBuffer* response, Step step) {
  if (absl::Status s = host.guard->Admit(*context); !s.ok()) return Refuse(context, s);
  return UnaryCall<Response>::StartAtDesk(host, context, ReadRequest<Request>(request), response,
                                          step);
}

// As many as one node can have.
constexpr int kMaxIncarnations = 4096;

absl::StatusOr<Driver::Snapshot> TakeSnapshot(const Driver& driver,
                                              const v1::GetStatusRequest& request) {
  if (!request.brief()) {
    return driver.GetStatus(request.job_id(),
                            {request.with_timeline(), request.with_completed_leases()});
  }
  if (request.incarnations_size() > kMaxIncarnations) {
    return absl::InvalidArgumentError(
        absl::StrCat("GetStatusRequest.incarnations has ", request.incarnations_size(),
                     " entries; expected at most ", kMaxIncarnations));
  }
  return driver.GetBriefStatus(request.job_id(),
                               {request.incarnations().begin(), request.incarnations().end()});
}

absl::Status AnswerStatus(const Host& host, const ByteBuffer& bytes, ByteBuffer* out) {
  const Driver& driver = *host.driver;
  const absl::StatusOr<v1::GetStatusRequest> request = ParseRequest<v1::GetStatusRequest>(bytes);
  if (!request.ok()) return request.status();
  const absl::StatusOr<Driver::Snapshot> snapshot = TakeSnapshot(driver, *request);
  if (!snapshot.ok()) return snapshot.status();
  v1::GetStatusResponse response;
  response.set_job_id(driver.options().job_id);
  response.set_daemon_version(driver.options().daemon_version);
  response.set_brief(request->brief());
  ToProto(snapshot->job, snapshot->now, &response);
  if (request->brief()) {
    *out = ToBytes(response);
    return absl::OkStatus();
  }
  ToProto(snapshot->timeline, snapshot->now, &response);
  ToProto(snapshot->uptime, response.mutable_uptime());
  response.set_unauthenticated_calls(host.guard->refused());
  *out = ToBytes(response);
  return absl::OkStatus();
}

}  // namespace

grpc::ServerWriteReactor<ByteBuffer>* CoordinatorService::Attach(
    CallbackServerContext* context, const ByteBuffer* request) noexcept {
  if (absl::Status s = host_.guard->Admit(*context); !s.ok()) return new RefusedStream(s);
  return AttachStream::Start(host_, context, *request);
}

ServerUnaryReactor* CoordinatorService::Join(CallbackServerContext* context,
                                             const ByteBuffer* request,
                                             ByteBuffer* response) noexcept {
  return Start<v1::JoinRequest, v1::JoinResponse>(host_, context, *request, response,
                                                  &Coordinator::Join);
}

ServerUnaryReactor* CoordinatorService::Rejoin(CallbackServerContext* context,
                                               const ByteBuffer* request,
                                               ByteBuffer* response) noexcept {
  return Start<v1::RejoinRequest, v1::RejoinResponse>(host_, context, *request, response,
                                                      &Coordinator::Rejoin);
}

ServerUnaryReactor* CoordinatorService::RequestStop(CallbackServerContext* context,
                                                    const ByteBuffer* request,
                                                    ByteBuffer* response) noexcept {
  return Start<v1::RequestStopRequest, v1::RequestStopResponse>(host_, context, *request, response,
                                                                &Coordinator::RequestStop);
}

ServerUnaryReactor* CoordinatorService::Barrier(CallbackServerContext* context,
                                                const ByteBuffer* request,
                                                ByteBuffer* response) noexcept {
  return Start<v1::BarrierRequest, v1::BarrierResponse>(host_, context, *request, response,
                                                        &Coordinator::Collective);
}

ServerUnaryReactor* CoordinatorService::Broadcast(CallbackServerContext* context,
                                                  const ByteBuffer* request,
                                                  ByteBuffer* response) noexcept {
  return Start<v1::BroadcastRequest, v1::BroadcastResponse>(host_, context, *request, response,
                                                            &Coordinator::Collective);
}

ServerUnaryReactor* CoordinatorService::Gather(CallbackServerContext* context,
                                               const ByteBuffer* request,
                                               ByteBuffer* response) noexcept {
  return Start<v1::GatherRequest, v1::GatherResponse>(host_, context, *request, response,
                                                      &Coordinator::Collective);
}

ServerUnaryReactor* CoordinatorService::AllGather(CallbackServerContext* context,
                                                  const ByteBuffer* request,
                                                  ByteBuffer* response) noexcept {
  return Start<v1::AllGatherRequest, v1::AllGatherResponse>(host_, context, *request, response,
                                                            &Coordinator::Collective);
}

ServerUnaryReactor* CoordinatorService::NodeCollective(CallbackServerContext* context,
                                                       const ByteBuffer* request,
                                                       ByteBuffer* response) noexcept {
  return Start<v1::NodeCollectiveRequest, v1::NodeCollectiveResponse>(
      host_, context, *request, response, &Coordinator::NodeCollective);
}

ServerUnaryReactor* CoordinatorService::WithdrawArrival(CallbackServerContext* context,
                                                        const ByteBuffer* request,
                                                        ByteBuffer* response) noexcept {
  return Start<v1::WithdrawArrivalRequest, v1::WithdrawArrivalResponse>(
      host_, context, *request, response, &Coordinator::WithdrawArrival);
}

ServerUnaryReactor* CoordinatorService::ReleaseGroups(CallbackServerContext* context,
                                                      const ByteBuffer* request,
                                                      ByteBuffer* response) noexcept {
  return Start<v1::ReleaseGroupsRequest, v1::ReleaseGroupsResponse>(
      host_, context, *request, response, &Coordinator::ReleaseGroups);
}

ServerUnaryReactor* CoordinatorService::AcquireLease(CallbackServerContext* context,
                                                     const ByteBuffer* request,
                                                     ByteBuffer* response) noexcept {
  return Start<v1::AcquireLeaseRequest, v1::AcquireLeaseResponse>(
      host_, context, *request, response, &Coordinator::AcquireLease);
}

ServerUnaryReactor* CoordinatorService::CompleteLease(CallbackServerContext* context,
                                                      const ByteBuffer* request,
                                                      ByteBuffer* response) noexcept {
  return Start<v1::CompleteLeaseRequest, v1::CompleteLeaseResponse>(
      host_, context, *request, response, &Coordinator::CompleteLease);
}

ServerUnaryReactor* CoordinatorService::AbandonLease(CallbackServerContext* context,
                                                     const ByteBuffer* request,
                                                     ByteBuffer* response) noexcept {
  return Start<v1::AbandonLeaseRequest, v1::AbandonLeaseResponse>(
      host_, context, *request, response, &Coordinator::AbandonLease);
}

ServerUnaryReactor* CoordinatorService::Leave(CallbackServerContext* context,
                                              const ByteBuffer* request,
                                              ByteBuffer* response) noexcept {
  return Start<v1::LeaveRequest, v1::LeaveResponse>(host_, context, *request, response,
                                                    &Coordinator::Leave);
}

ServerUnaryReactor* CoordinatorService::ReportExit(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) noexcept {
  return Start<v1::ReportExitRequest, v1::ReportExitResponse>(host_, context, *request, response,
                                                              &Coordinator::ReportExit);
}

ServerUnaryReactor* CoordinatorService::ReportProcessState(CallbackServerContext* context,
                                                           const ByteBuffer* request,
                                                           ByteBuffer* response) noexcept {
  return Start<v1::ReportProcessStateRequest, v1::ReportProcessStateResponse>(
      host_, context, *request, response, &Coordinator::ReportProcessState);
}

ServerUnaryReactor* CoordinatorService::RequestInquiry(CallbackServerContext* context,
                                                       const ByteBuffer* request,
                                                       ByteBuffer* response) noexcept {
  return StartAtDesk<v1::RequestInquiryRequest, v1::RequestInquiryResponse>(
      host_, context, *request, response, &core::InquiryDesk::RequestInquiry);
}

ServerUnaryReactor* CoordinatorService::ReportInquiry(CallbackServerContext* context,
                                                      const ByteBuffer* request,
                                                      ByteBuffer* response) noexcept {
  return StartAtDesk<v1::ReportInquiryRequest, v1::ReportInquiryResponse>(
      host_, context, *request, response, &core::InquiryDesk::ReportInquiry);
}

ServerUnaryReactor* CoordinatorService::GetInquiry(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) noexcept {
  return StartAtDesk<v1::GetInquiryRequest, v1::GetInquiryResponse>(
      host_, context, *request, response, &core::InquiryDesk::GetInquiry);
}

ServerUnaryReactor* CoordinatorService::GetStatus(CallbackServerContext* context,
                                                  const ByteBuffer* request,
                                                  ByteBuffer* response) noexcept {
  if (absl::Status s = host_.guard->Admit(*context); !s.ok()) return Refuse(context, s);
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(AnswerStatus(host_, *request, response)));
  return reactor;
}

}  // namespace muster::service
