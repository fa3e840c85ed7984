#include "server/service/coordinator_service.h"

#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/rpcs.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/attach_stream.h"
#include "server/service/conversion/response_conversion.h"
#include "server/service/conversion/response_writer.h"
#include "server/service/raw_message.h"
#include "server/service/status.h"
#include "server/service/unary_call.h"

namespace muster::service {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

namespace {

// Ends a call without reading its request.
ServerUnaryReactor* Refuse(CallbackServerContext* context, const absl::Status& why) {
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(why));
  return reactor;
}

// The reactor of an Attach that is refused.
class RefusedStream final : public grpc::ServerWriteReactor<ByteBuffer> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() noexcept override { delete this; }
};

absl::StatusOr<Driver::Snapshot> TakeSnapshot(const Driver& driver,
                                              const core::StatusQuestion& question) {
  if (question.brief) return driver.GetBriefStatus(question.job_id, question.members);
  return driver.GetStatus(question.job_id,
                          {question.with_timeline, question.with_completed_leases});
}

absl::StatusOr<ByteBuffer> AnswerStatus(const Host& host, const core::StatusQuestion& question) {
  const Driver& driver = *host.driver;
  const absl::StatusOr<Driver::Snapshot> snapshot = TakeSnapshot(driver, question);
  if (!snapshot.ok()) return snapshot.status();
  v1::GetStatusResponse response;
  response.set_job_id(driver.options().job_id);
  response.set_daemon_version(driver.options().daemon_version);
  response.set_brief(question.brief);
  ToProto(snapshot->job, snapshot->now, &response);
  if (question.brief) return ToBytes(response);
  ToProto(snapshot->timeline, snapshot->now, &response);
  ToProto(snapshot->uptime, response.mutable_uptime());
  response.set_unauthenticated_calls(host.guard->refused());
  return ToBytes(response);
}

ServerUnaryReactor* StartStatus(const Host& host, CallbackServerContext* context,
                                const ByteBuffer& request, ByteBuffer* response) {
  const auto question = ReadRequest<v1::GetStatusRequest>(request);
  absl::StatusOr<ByteBuffer> answer =
      question.ok() ? AnswerStatus(host, *question) : question.status();
  const absl::Status status = answer.status();
  if (status.ok()) *response = *std::move(answer);
  ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// True for requests that become inputs of the core. The inquiry desk answers the others.
template <typename Request>
constexpr bool kIsStep = std::is_constructible_v<core::Input, CoreRequestOf<Request>>;

// Starts a unary call, if the guard admits it.
template <typename Request>
ServerUnaryReactor* Start(const Host& host, CallbackServerContext* context,
                          const ByteBuffer& request, ByteBuffer* response) {
  using Call = UnaryCall<ResponseOf<Request>>;
  if (absl::Status s = host.guard->Admit(*context); !s.ok()) return Refuse(context, s);
  if constexpr (std::is_same_v<Request, v1::GetStatusRequest>) {
    return StartStatus(host, context, request, response);
  } else if constexpr (kIsStep<Request>) {
    journal::KeptRequest kept;
    auto read = ReadRequest<Request>(request, host.driver->keeps(), &kept);
    return Call::Start(host, context, std::move(read), kept, response);
  } else {
    return Call::StartAtDesk(host, context, ReadRequest<Request>(request), response);
  }
}

// The number of rpcs in the generated service, which nests one template for each.
template <typename Service>
constexpr size_t kMethods = 0;
template <template <typename> typename WithMethod, typename Base>
constexpr size_t kMethods<WithMethod<Base>> = 1 + kMethods<Base>;

static_assert(AllRequests::kSize == kMethods<v1::CoordinatorService::CallbackService>,
              "an rpc of coordinator.proto has no row in common/rpcs.h");

}  // namespace

CoordinatorService::CoordinatorService(Driver* driver, CallGuard* guard)
    : unread_(driver->options().limits.max_held_bytes), host_{driver, &unread_, guard} {
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
              absl::Status admitted = host_.guard->Admit(*context);
              if (!admitted.ok()) return new RefusedStream(admitted);
              return AttachStream::Start(host_, context, *request);
            }));
  } else {
    MarkMethodRawCallback(method,
                          new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
                              [this](CallbackServerContext* context, const ByteBuffer* request,
                                     ByteBuffer* response) noexcept {
                                return Start<Request>(host_, context, *request, response);
                              }));
  }
}

}  // namespace muster::service
