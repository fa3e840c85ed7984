#ifndef MUSTER_SERVER_SERVICE_ATTACH_REACTOR_H_
#define MUSTER_SERVER_SERVICE_ATTACH_REACTOR_H_

#include <memory>

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/answers/unread_answer_limiter.h"
#include "server/service/driver/coordinator_driver.h"
#include "server/service/driver/stream_send_queue.h"
#include "server/service/reactor_dependencies.h"

namespace muster::service {

// The reactor of an Attach stream. Sends the items that the driver pushes, in order, one write at a
// time. It keeps itself alive until gRPC calls OnDone(), and the driver keeps it alive while items
// wait to be flushed. If a member leaves too many events unread, its stream ends, and their memory
// is freed.
class AttachReactor final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                            public EventStream,
                            public UnreadAnswerLimiter::Rpc {
 public:
  static grpc::ServerWriteReactor<grpc::ByteBuffer>* Start(
      const ReactorDependencies& dependencies, grpc::CallbackServerContext* context,
      const grpc::ByteBuffer& request) noexcept;

  void Push(StreamItem item) override;
  void Flush() noexcept override;

  UnreadAnswerLimiter::StreamReset PrepareReset() override;

  void OnWriteDone(bool ok) noexcept override;
  void OnCancel() noexcept override;
  void OnDone() noexcept override;

 private:
  AttachReactor(const ReactorDependencies& dependencies, grpc::CallbackServerContext* context);

  void Send(StreamedEvent* event);
  void NoteSession(const core::Event& event);

  const ReactorDependencies dependencies_;
  const core::WaiterId id_;
  grpc::CallbackServerContext* const context_;
  core::Incarnation process_;
  std::shared_ptr<AttachReactor> self_;
  grpc::ByteBuffer writing_;  // belongs to gRPC during a write

  StreamSendQueue queue_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_ATTACH_REACTOR_H_
