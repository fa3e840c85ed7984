#include "server/service/coordinator_service.h"

#include "absl/status/statusor.h"
#include "server/service/attach_stream.h"
#include "server/service/request_conversion.h"
#include "server/service/response_conversion.h"
#include "server/service/status.h"
#include "server/service/unary_call.h"
#include "server/service/writer.h"

namespace muster::service {

using core::Coordinator;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

template <typename Request, typename Response, typename Step>
ServerUnaryReactor* CoordinatorService::Start(const Request& request, Response* response,
                                              Step step) {
  return UnaryCall<Response>::Start(driver_, FromProto(request), response, step);
}

grpc::ServerWriteReactor<v1::AttachResponse>* CoordinatorService::Attach(
    CallbackServerContext*, const v1::AttachRequest* request) {
  return AttachStream::Start(driver_, *request);
}

ServerUnaryReactor* CoordinatorService::Join(CallbackServerContext*, const v1::JoinRequest* request,
                                             v1::JoinResponse* response) {
  return Start(*request, response, &Coordinator::Join);
}

ServerUnaryReactor* CoordinatorService::Rejoin(CallbackServerContext*,
                                               const v1::RejoinRequest* request,
                                               v1::RejoinResponse* response) {
  return Start(*request, response, &Coordinator::Rejoin);
}

ServerUnaryReactor* CoordinatorService::RequestStop(CallbackServerContext*,
                                                    const v1::RequestStopRequest* request,
                                                    v1::RequestStopResponse* response) {
  return Start(*request, response, &Coordinator::RequestStop);
}

ServerUnaryReactor* CoordinatorService::Barrier(CallbackServerContext*,
                                                const v1::BarrierRequest* request,
                                                v1::BarrierResponse* response) {
  return Start(*request, response, &Coordinator::Collective);
}

ServerUnaryReactor* CoordinatorService::Broadcast(CallbackServerContext*,
                                                  const v1::BroadcastRequest* request,
                                                  v1::BroadcastResponse* response) {
  return Start(*request, response, &Coordinator::Collective);
}

ServerUnaryReactor* CoordinatorService::Gather(CallbackServerContext*,
                                               const v1::GatherRequest* request,
                                               v1::GatherResponse* response) {
  return Start(*request, response, &Coordinator::Collective);
}

ServerUnaryReactor* CoordinatorService::AllGather(CallbackServerContext*,
                                                  const v1::AllGatherRequest* request,
                                                  v1::AllGatherResponse* response) {
  return Start(*request, response, &Coordinator::Collective);
}

ServerUnaryReactor* CoordinatorService::AcquireLease(CallbackServerContext*,
                                                     const v1::AcquireLeaseRequest* request,
                                                     v1::AcquireLeaseResponse* response) {
  return Start(*request, response, &Coordinator::AcquireLease);
}

ServerUnaryReactor* CoordinatorService::CompleteLease(CallbackServerContext*,
                                                      const v1::CompleteLeaseRequest* request,
                                                      v1::CompleteLeaseResponse* response) {
  return Start(*request, response, &Coordinator::CompleteLease);
}

ServerUnaryReactor* CoordinatorService::AbandonLease(CallbackServerContext*,
                                                     const v1::AbandonLeaseRequest* request,
                                                     v1::AbandonLeaseResponse* response) {
  return Start(*request, response, &Coordinator::AbandonLease);
}

ServerUnaryReactor* CoordinatorService::Leave(CallbackServerContext*,
                                              const v1::LeaveRequest* request,
                                              v1::LeaveResponse* response) {
  return Start(*request, response, &Coordinator::Leave);
}

ServerUnaryReactor* CoordinatorService::ReportExit(CallbackServerContext*,
                                                   const v1::ReportExitRequest* request,
                                                   v1::ReportExitResponse* response) {
  return Start(*request, response, &Coordinator::ReportExit);
}

ServerUnaryReactor* CoordinatorService::ReportProcessState(
    CallbackServerContext*, const v1::ReportProcessStateRequest* request,
    v1::ReportProcessStateResponse* response) {
  return Start(*request, response, &Coordinator::ReportProcessState);
}

ServerUnaryReactor* CoordinatorService::GetStatus(CallbackServerContext* context,
                                                  const v1::GetStatusRequest* request,
                                                  v1::GetStatusResponse* response) {
  const absl::StatusOr<Driver::Snapshot> snapshot = driver_->GetStatus(request->job_id());
  if (snapshot.ok()) {
    response->set_job_id(driver_->options().job_id);
    response->set_daemon_version(driver_->options().daemon_version);
    ToProto(snapshot->job, snapshot->now, response);
    ToProto(snapshot->uptime, response->mutable_uptime());
  }
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(snapshot.status()));
  return reactor;
}

}  // namespace muster::service
