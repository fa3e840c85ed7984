#ifndef MUSTER_SERVER_SERVICE_STORE_REACTOR_H_
#define MUSTER_SERVER_SERVICE_STORE_REACTOR_H_

#include <memory>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/driver/coordinator_driver.h"
#include "server/service/store_send_queue.h"

namespace muster::service {

// The reactor of a stream of the store. It reads one message at a time, each of which becomes a
// step, and sends the messages that the driver pushes, in order, one at a time. It holds the
// stream's id and no policy. It keeps itself alive until gRPC calls OnDone(), and the driver keeps
// it alive while messages wait to be flushed.
class StoreReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                           public StoreStream {
 public:
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Start(
      CoordinatorDriver* driver, grpc::CallbackServerContext* context) noexcept;

  void Push(core::StoreResponse message) override { queue_.Push(std::move(message)); }
  void PushEnd(absl::Status end) override { queue_.PushEnd(std::move(end)); }
  void Flush() noexcept override;

  void OnReadDone(bool ok) noexcept override;
  void OnWriteDone(bool ok) noexcept override;
  void OnCancel() noexcept override;
  void OnDone() noexcept override;

 private:
  StoreReactor(CoordinatorDriver* driver, grpc::CallbackServerContext* context);

  void Send(const core::StoreResponse& message);
  void EndForUnreadMessages();

  CoordinatorDriver* const driver_;
  const core::WaiterId id_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<StoreReactor> self_;
  grpc::ByteBuffer reading_;  // belongs to gRPC during a read
  grpc::ByteBuffer writing_;  // belongs to gRPC during a write

  StoreSendQueue queue_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_STORE_REACTOR_H_
