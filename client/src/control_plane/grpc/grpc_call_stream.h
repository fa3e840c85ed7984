#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_CALL_STREAM_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_CALL_STREAM_H_

#include <grpcpp/support/async_stream.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "client/src/control_plane/grpc/grpc_calls.h"
#include "client/src/control_plane/grpc/grpc_link.h"
#include "client/src/control_plane/transport.h"
#include "muster/v1/calls.grpc.pb.h"

namespace muster::internal {

// A stream that carries calls of a member, one at a time, as gRPC runs it. Any thread may begin a
// call, and one thread at a time handles the events. If the stream ends during a call, the call
// ends with UNAVAILABLE, as an rpc does whose connection is lost.
//
// The stream reads only during a call: a read that is in progress would make gRPC tell the daemon
// at once how much more it may send, and wake it for that. So the end of a stream without a call is
// only noticed by its next call.
class GrpcCallStream final : public InFlightCall {
 public:
  GrpcCallStream(const GrpcCaller& caller, const std::shared_ptr<Link>& link);

  void Start(EndedCallback ended);
  // Begins a call, which ends with `done`. Returns false, and leaves both as they are, if the call
  // must be an rpc: another call is in progress, or the stream has ended.
  bool Send(uint64_t attempt, Request* request, Transport::Done* done);
  // Ends the stream if it carries this call now, and the call with CANCELLED. Otherwise returns
  // false.
  bool CancelCall(uint64_t attempt);
  // Ends the stream after the call in progress.
  void Retire();
  // Ends the stream.
  void Cancel() override;

 private:
  struct Call {
    uint64_t attempt;
    Transport::Done done;
    Response (*take)(v1::CallResponse* response);  // moves the content out
  };

  template <class Req>
  bool SendRequest(uint64_t attempt, Req* request, Transport::Done* done);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void TakeResponse(std::unique_lock<std::mutex> lock);
  void TakeEnd();

  // These need the lock.
  void BeginCallIfIdle();
  // Asks for the status if no call may begin any more, and nothing is in progress.
  void FinishIfIdle();

  const GrpcCaller& caller_;
  const std::unique_ptr<v1::CallService::Stub> stub_;
  CancellableContext context_;
  // The tags of the two operations that may be in progress at the same time. The first is also the
  // tag of the start and of the end.
  EventMethod<GrpcCallStream, &GrpcCallStream::OnRead> reading_{this};
  EventMethod<GrpcCallStream, &GrpcCallStream::OnWritten> writing_{this};
  uint64_t token_ = 0;
  EndedCallback ended_;  // used only in events

  std::mutex mutex_;  // guards all fields below, and the beginning of operations
  bool started_ = false;
  bool is_reading_ = true;  // or starts
  bool is_writing_ = false;
  bool ending_ = false;     // no call may begin
  bool retired_ = false;    // the stream is cancelled when it carries no call
  bool cancelled_ = false;  // so was the call
  bool finishing_ = false;
  std::optional<Call> call_;  // in progress
  bool is_unsent_ = false;    // its request waits for the start, or for the last write
  v1::CallRequest request_;
  v1::CallResponse response_;
  grpc::Status status_;
  // Allocated in the context's memory.
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::CallRequest, v1::CallResponse>> stream_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_CALL_STREAM_H_
