#include "server/service/store_service.h"

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/status.h"
#include "server/service/store_reactor.h"

namespace muster::service {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using StoreBidiReactor = grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>;

// The reactor of a stream that is refused.
class RejectedStoreStream final : public StoreBidiReactor {
 public:
  explicit RejectedStoreStream(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() noexcept override { delete this; }
};

}  // namespace

// Registers the handler as the generated WithRawCallbackMethod_Store does. It is noexcept: gRPC
// would turn an exception into an answer.
StoreService::StoreService(CoordinatorDriver* driver, CallGuard* guard) {
  MarkMethodRawCallback(
      0, new grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>(
             [driver, guard](CallbackServerContext* context) noexcept -> StoreBidiReactor* {
               const absl::Status admitted = guard->Admit(*context);
               if (!admitted.ok()) return new RejectedStoreStream(admitted);
               return StoreReactor::Start(driver, context);
             }));
}

}  // namespace muster::service
