#ifndef MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
#define MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "server/service/driver.h"
#include "server/service/host.h"
#include "server/service/unread_answers.h"

namespace muster::service {

// The generated service with methods that take and give messages as bytes: see raw_message.h.
using Generated = v1::CoordinatorService;
using RawOthers =
    Generated::WithRawCallbackMethod_GetStatus<Generated::WithRawCallbackMethod_RequestInquiry<
        Generated::WithRawCallbackMethod_ReportInquiry<Generated::WithRawCallbackMethod_GetInquiry<
            Generated::WithRawCallbackMethod_ReleaseGroups<Generated::Service>>>>>;
using RawCoordinatorService =
    Generated::WithRawCallbackMethod_Attach<Generated::WithRawCallbackMethod_Join<
        Generated::WithRawCallbackMethod_Rejoin<Generated::WithRawCallbackMethod_RequestStop<
            Generated::WithRawCallbackMethod_Barrier<Generated::WithRawCallbackMethod_Broadcast<
                Generated::WithRawCallbackMethod_Gather<Generated::WithRawCallbackMethod_AllGather<
                    Generated::WithRawCallbackMethod_NodeCollective<
                        Generated::WithRawCallbackMethod_WithdrawArrival<
                            Generated::WithRawCallbackMethod_AcquireLease<
                                Generated::WithRawCallbackMethod_CompleteLease<
                                    Generated::WithRawCallbackMethod_AbandonLease<
                                        Generated::WithRawCallbackMethod_Leave<
                                            Generated::WithRawCallbackMethod_ReportExit<
                                                Generated::WithRawCallbackMethod_ReportProcessState<
                                                    RawOthers>>>>>>>>>>>>>>>>;

// muster.v1.CoordinatorService over a driver: each rpc that the guard admits becomes a step of the
// core. No method lets an exception out: gRPC would take it for an answer.
class CoordinatorService final : public RawCoordinatorService {
 public:
  // Both must outlive the server that this is registered with.
  CoordinatorService(Driver* driver, CallGuard* guard)
      : unread_(driver->options().limits.max_held_bytes), host_{driver, &unread_, guard} {}

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Attach(grpc::CallbackServerContext*,
                                                     const grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                 grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* Rejoin(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                   grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* RequestStop(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                        grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* Barrier(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                    grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* Broadcast(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                      grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* Gather(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                   grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* AllGather(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                      grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* NodeCollective(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                           grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* WithdrawArrival(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                            grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* ReleaseGroups(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                          grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* AcquireLease(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                         grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* CompleteLease(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                          grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* AbandonLease(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                         grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* Leave(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                  grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* ReportExit(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                       grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* ReportProcessState(grpc::CallbackServerContext*,
                                               const grpc::ByteBuffer*,
                                               grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* RequestInquiry(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                           grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* ReportInquiry(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                          grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* GetInquiry(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                       grpc::ByteBuffer*) noexcept override;
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                      grpc::ByteBuffer*) noexcept override;

  // See UnreadAnswers.
  uint64_t answers_let_go() const { return unread_.let_go(); }

 private:
  UnreadAnswers unread_;
  const Host host_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_COORDINATOR_SERVICE_H_
