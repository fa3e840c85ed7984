#ifndef MUSTER_SERVER_SERVICE_BIDI_HANDLER_H_
#define MUSTER_SERVER_SERVICE_BIDI_HANDLER_H_

#include "absl/status/status.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/credentials/call_guard.h"
#include "server/service/status.h"

namespace muster::service {

// A reactor of a stream that reads and writes messages as bytes.
using RawBidiReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// The reactor of a stream that is refused.
class RejectedBidiStream final : public RawBidiReactor {
 public:
  explicit RejectedBidiStream(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() noexcept override { delete this; }
};

// Returns a handler for MarkMethodRawCallback(), as the generated WithRawCallbackMethod_... makes
// one. Each stream that the guard admits gets the reactor start(context). The handler is noexcept:
// gRPC would turn an exception into an answer.
template <typename Start>
auto* MakeBidiHandler(CallGuard* guard, Start start) {
  return new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
      [guard, start](grpc::CallbackServerContext* context) noexcept -> RawBidiReactor* {
        const absl::Status admitted = guard->Admit(*context);
        if (!admitted.ok()) return new RejectedBidiStream(admitted);
        return start(context);
      });
}

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_BIDI_HANDLER_H_
