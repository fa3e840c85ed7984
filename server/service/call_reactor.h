#ifndef MUSTER_SERVER_SERVICE_CALL_REACTOR_H_
#define MUSTER_SERVER_SERVICE_CALL_REACTOR_H_

#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/service/answers/unread_answer_limiter.h"
#include "server/service/driver/coordinator_driver.h"
#include "server/service/reactor_dependencies.h"

namespace muster::service {

// The reactor of a stream that carries calls. It reads a request, waits for the end of that call,
// writes the response, and then reads the next request. Each call has a waiter id and a place in
// the limit of unread answers, as the call of a UnaryReactor. It holds no policy, and keeps itself
// alive until gRPC calls OnDone().
//
// Between a request and its response the stream reads nothing. A read that is in progress would
// make gRPC tell the caller at once how much more it may send, and wake it for that.
class CallReactor final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          public CallStream,
                          public Responder,
                          public UnreadAnswerLimiter::Rpc {
 public:
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Start(
      const ReactorDependencies& dependencies, grpc::CallbackServerContext* context) noexcept;

  // CallStream:
  void EndAfterCall(const absl::Status& end) noexcept override;

  // Of the call in progress:
  void End(const absl::Status& status, const core::Answer& answer) noexcept override;
  UnreadAnswerLimiter::StreamReset PrepareReset() override;

  void OnReadDone(bool ok) noexcept override;
  void OnWriteDone(bool ok) noexcept override;
  void OnCancel() noexcept override;
  void OnDone() noexcept override;

 private:
  using Encode = absl::Status (*)(const core::Answer& answer, grpc::ByteBuffer* response);
  using Lock = std::lock_guard<std::mutex>;

  CallReactor(const ReactorDependencies& dependencies, grpc::CallbackServerContext* context);

  // Begins the call that was read. Returns an error, and begins none, if it must end the stream.
  absl::Status Receive();
  template <typename Request>
  void Begin(Request* request);

  const ReactorDependencies dependencies_;
  const core::WaiterId id_;
  grpc::CallbackServerContext* const context_;
  std::shared_ptr<CallReactor> self_;
  // These belong to gRPC during a read and a write. Only one of the two is in progress at a time.
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;

  // Of the call in progress. They change only between calls.
  SendKey send_;
  Encode encode_ = nullptr;

  std::mutex mutex_;  // guards the members below
  // In progress, or 0 while the stream reads. The calls themselves read it without the lock.
  core::WaiterId call_ = 0;
  bool ending_ = false;  // the stream ends after this call
  absl::Status end_;
  bool cancelled_ = false;  // nobody waits for the response
  bool done_ = false;       // gRPC has no call any more
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CALL_REACTOR_H_
