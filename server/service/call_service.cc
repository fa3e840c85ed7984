#include "server/service/call_service.h"

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/call_reactor.h"
#include "server/service/status.h"

namespace muster::service {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using CallBidiReactor = grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>;

// The reactor of a stream that is refused.
class RejectedCalls final : public CallBidiReactor {
 public:
  explicit RejectedCalls(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() noexcept override { delete this; }
};

}  // namespace

// Registers the handler as the generated WithRawCallbackMethod_Call does. It is noexcept: gRPC
// would turn an exception into an answer.
CallService::CallService(const ReactorDependencies& dependencies) {
  MarkMethodRawCallback(
      0, new grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>(
             [dependencies](CallbackServerContext* context) noexcept -> CallBidiReactor* {
               const absl::Status admitted = dependencies.guard->Admit(*context);
               if (!admitted.ok()) return new RejectedCalls(admitted);
               return CallReactor::Start(dependencies, context);
             }));
}

}  // namespace muster::service
