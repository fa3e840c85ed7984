#ifndef MUSTER_SERVER_SERVICE_ATTACH_STREAM_H_
#define MUSTER_SERVER_SERVICE_ATTACH_STREAM_H_

#include <memory>

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/answers/unread_answers.h"
#include "server/service/driver/driver.h"
#include "server/service/driver/event_queue.h"
#include "server/service/host.h"

namespace muster::service {

// The reactor of an Attach stream. Sends the items that the driver pushes, in order, one write at a
// time. It keeps itself alive until gRPC calls OnDone(), and the driver keeps it alive while items
// wait to be flushed. If a member leaves too many events unread, its stream ends, and their memory
// is freed.
class AttachStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                           public EventStream,
                           public UnreadAnswers::Rpc {
 public:
  static grpc::ServerWriteReactor<grpc::ByteBuffer>* Start(
      const Host& host, grpc::CallbackServerContext* context,
      const grpc::ByteBuffer& request) noexcept;

  void Push(StreamItem item) override;
  void Flush() noexcept override;

  UnreadAnswers::LetGo ToLetGo() override;

  void OnWriteDone(bool ok) noexcept override;
  void OnCancel() noexcept override;
  void OnDone() noexcept override;

 private:
  AttachStream(const Host& host, grpc::CallbackServerContext* context);

  void Send(StreamedEvent* event);
  void NoteSession(const core::Event& event);

  const Host host_;
  const core::WaiterId id_;
  grpc::CallbackServerContext* const context_;
  core::Incarnation process_;
  std::shared_ptr<AttachStream> self_;
  grpc::ByteBuffer writing_;  // belongs to gRPC during a write

  EventQueue queue_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_ATTACH_STREAM_H_
