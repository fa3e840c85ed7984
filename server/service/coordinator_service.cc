#include "server/service/coordinator_service.h"

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/rpc/rpcs.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/attach_reactor.h"
#include "server/service/conversion/response_conversion.h"
#include "server/service/conversion/response_writer.h"
#include "server/service/raw_message.h"
#include "server/service/status.h"
#include "server/service/unary_reactor.h"

namespace muster::service {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

namespace {

// Ends a call without reading its request.
ServerUnaryReactor* RejectCall(CallbackServerContext* context, const absl::Status& why) {
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(why));
  return reactor;
}

// The reactor of an Attach that is refused.
class RejectedStream final : public grpc::ServerWriteReactor<ByteBuffer> {
 public:
  explicit RejectedStream(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() noexcept override { delete this; }
};

absl::StatusOr<CoordinatorDriver::Snapshot> TakeSnapshot(const CoordinatorDriver& driver,
                                                         const core::StatusQuery& question) {
  if (question.brief) return driver.GetBriefStatus(question.job_id, question.members);
  return driver.GetStatus(question.job_id,
                          {question.with_timeline, question.with_completed_leases});
}

absl::StatusOr<ByteBuffer> AnswerStatus(const ReactorDependencies& dependencies,
                                        const core::StatusQuery& question) {
  const CoordinatorDriver& driver = *dependencies.driver;
  const absl::StatusOr<CoordinatorDriver::Snapshot> snapshot = TakeSnapshot(driver, question);
  if (!snapshot.ok()) return snapshot.status();
  v1::GetStatusResponse response;
  response.set_job_id(driver.options().job_id);
  response.set_daemon_version(driver.options().daemon_version);
  response.set_brief(question.brief);
  ToProto(snapshot->job, snapshot->now, &response);
  if (question.brief) return ToBytes(response);
  ToProto(snapshot->timeline, snapshot->now, &response);
  ToProto(snapshot->uptime, response.mutable_uptime());
  response.set_unauthenticated_calls(dependencies.guard->refused());
  return ToBytes(response);
}

ServerUnaryReactor* StartStatus(const ReactorDependencies& dependencies,
                                CallbackServerContext* context, const ByteBuffer& request,
                                ByteBuffer* response) {
  const auto question = ReadRequest<v1::GetStatusRequest>(request);
  absl::StatusOr<ByteBuffer> answer =
      question.ok() ? AnswerStatus(dependencies, *question) : question.status();
  const absl::Status status = answer.status();
  if (status.ok()) *response = *std::move(answer);
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// True for requests that become inputs of the core. The hang diagnoser answers the others.
template <typename Request>
constexpr bool kIsCoreInput = std::is_constructible_v<core::Input, CoreRequestOf<Request>>;

// Starts a unary call, if the guard admits it.
template <typename Request>
ServerUnaryReactor* Start(const ReactorDependencies& dependencies, CallbackServerContext* context,
                          const ByteBuffer& request, ByteBuffer* response) {
  using Call = UnaryReactor<ResponseOf<Request>>;
  if (absl::Status s = dependencies.guard->Admit(*context); !s.ok()) return RejectCall(context, s);
  if constexpr (std::is_same_v<Request, v1::GetStatusRequest>) {
    return StartStatus(dependencies, context, request, response);
  } else if constexpr (kIsCoreInput<Request>) {
    journal::KeptRequest kept;
    auto read = ReadRequest<Request>(request, dependencies.driver->payload_hasher(), &kept);
    return Call::Start(dependencies, context, std::move(read), kept, response);
  } else {
    return Call::StartDiagnosis(dependencies, context, ReadRequest<Request>(request), response);
  }
}

// The number of rpcs in the generated service, which nests one template for each.
template <typename Service>
constexpr size_t kMethods = 0;
template <template <typename> typename WithMethod, typename Base>
constexpr size_t kMethods<WithMethod<Base>> = 1 + kMethods<Base>;

static_assert(AllRequests::kSize == kMethods<v1::CoordinatorService::CallbackService>,
              "an rpc of coordinator.proto has no row in common/rpc/rpcs.h");

}  // namespace

CoordinatorService::CoordinatorService(CoordinatorDriver* driver, CallGuard* guard)
    : unread_(driver->options().limits.max_held_bytes), dependencies_{driver, &unread_, guard} {
  int method = 0;
  ForEachType(AllRequests(),
              [&](auto* type) { Register<std::remove_pointer_t<decltype(type)>>(method++); });
}

// Registers a handler as the generated WithRawCallbackMethod_Join and its siblings do. The handlers
// are noexcept: gRPC would turn an exception into an answer.
template <typename Request>
void CoordinatorService::Register(int method) {
  if constexpr (Rpc<Request>::kStreams) {
    MarkMethodRawCallback(
        method,
        new grpc::internal::CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>(
            [this](CallbackServerContext* context,
                   const ByteBuffer* request) noexcept -> grpc::ServerWriteReactor<ByteBuffer>* {
              absl::Status admitted = dependencies_.guard->Admit(*context);
              if (!admitted.ok()) return new RejectedStream(admitted);
              return AttachReactor::Start(dependencies_, context, *request);
            }));
  } else {
    MarkMethodRawCallback(method,
                          new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
                              [this](CallbackServerContext* context, const ByteBuffer* request,
                                     ByteBuffer* response) noexcept {
                                return Start<Request>(dependencies_, context, *request, response);
                              }));
  }
}

}  // namespace muster::service
