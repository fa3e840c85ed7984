#ifndef MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
#define MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_

#include "muster/v1/coordinator.grpc.pb.h"
#include "server/service/driver.h"

namespace muster::service {

// muster.v1.CoordinatorService over a driver: each rpc becomes a step of the core.
class CoordinatorService final : public v1::CoordinatorService::CallbackService {
 public:
  // `driver` must outlive the server that this is registered with.
  explicit CoordinatorService(Driver* driver) : driver_(driver) {}

  grpc::ServerWriteReactor<v1::AttachResponse>* Attach(grpc::CallbackServerContext*,
                                                       const v1::AttachRequest*) override;
  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext*, const v1::JoinRequest*,
                                 v1::JoinResponse*) override;
  grpc::ServerUnaryReactor* Rejoin(grpc::CallbackServerContext*, const v1::RejoinRequest*,
                                   v1::RejoinResponse*) override;
  grpc::ServerUnaryReactor* RequestStop(grpc::CallbackServerContext*, const v1::RequestStopRequest*,
                                        v1::RequestStopResponse*) override;
  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext*, const v1::BarrierRequest*,
                                    v1::BarrierResponse*) override;
  grpc::ServerUnaryReactor* Broadcast(grpc::CallbackServerContext*, const v1::BroadcastRequest*,
                                      v1::BroadcastResponse*) override;
  grpc::ServerUnaryReactor* Gather(grpc::CallbackServerContext*, const v1::GatherRequest*,
                                   v1::GatherResponse*) override;
  grpc::ServerUnaryReactor* AllGather(grpc::CallbackServerContext*, const v1::AllGatherRequest*,
                                      v1::AllGatherResponse*) override;
  grpc::ServerUnaryReactor* AcquireLease(grpc::CallbackServerContext*,
                                         const v1::AcquireLeaseRequest*,
                                         v1::AcquireLeaseResponse*) override;
  grpc::ServerUnaryReactor* CompleteLease(grpc::CallbackServerContext*,
                                          const v1::CompleteLeaseRequest*,
                                          v1::CompleteLeaseResponse*) override;
  grpc::ServerUnaryReactor* AbandonLease(grpc::CallbackServerContext*,
                                         const v1::AbandonLeaseRequest*,
                                         v1::AbandonLeaseResponse*) override;
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext*, const v1::LeaveRequest*,
                                  v1::LeaveResponse*) override;
  grpc::ServerUnaryReactor* ReportExit(grpc::CallbackServerContext*, const v1::ReportExitRequest*,
                                       v1::ReportExitResponse*) override;
  grpc::ServerUnaryReactor* ReportProcessState(grpc::CallbackServerContext*,
                                               const v1::ReportProcessStateRequest*,
                                               v1::ReportProcessStateResponse*) override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext*, const v1::GetStatusRequest*,
                                      v1::GetStatusResponse*) override;

 private:
  // Starts the call of one rpc, whose step of the core is `step`.
  template <typename Request, typename Response, typename Step>
  grpc::ServerUnaryReactor* Start(const Request& request, Response* response, Step step);

  Driver* const driver_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
