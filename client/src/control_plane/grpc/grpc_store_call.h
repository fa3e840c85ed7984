#ifndef MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_STORE_CALL_H_
#define MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_STORE_CALL_H_

#include <grpcpp/support/async_stream.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "client/src/control_plane/grpc/grpc_calls.h"
#include "client/src/control_plane/grpc/grpc_link.h"
#include "client/src/control_plane/store_transport.h"
#include "muster/v1/store.grpc.pb.h"

namespace muster::internal {

// A stream of the store, as gRPC runs it: it reads and writes at the same time. Any thread may
// send, and one thread at a time handles the events. Which attempt it serves is decided by
// StoreStream in client/src/protocol/store.
class StoreCall final : public InFlightCall {
 public:
  // `on_peer` gets gRPC's name of the peer before each response.
  StoreCall(const GrpcCaller& caller, std::shared_ptr<Link> link, StoreTransport::Handler handler,
            std::function<void(const std::string&)> on_peer);

  void Start(EndedCallback ended);
  void Send(v1::StoreRequest request);
  void FinishSending();
  void Cancel() override { context_.Cancel(); }

 private:
  enum class Awaits { kStart, kResponse, kEnd };

  void OnRead(bool ok);
  void OnWritten(bool ok);
  // Starts the next write, if none is in progress and the stream goes on. Under the lock.
  void WriteNext();
  // Asks for the status, if no write is in progress. Under the lock.
  void FinishIfIdle();
  void TakeResponse();
  void TakeEnd();

  const GrpcCaller& caller_;
  const std::shared_ptr<Link> link_;
  const std::unique_ptr<v1::StoreService::Stub> stub_;
  const StoreTransport::Handler handler_;
  const std::function<void(const std::string&)> on_peer_;
  CancellableContext context_;
  // The tags of the two operations that may be in progress at the same time.
  EventMethod<StoreCall, &StoreCall::OnRead> reading_{this};
  EventMethod<StoreCall, &StoreCall::OnWritten> writing_{this};
  uint64_t token_ = 0;

  // Used only in events.
  Awaits awaits_ = Awaits::kStart;
  v1::StoreResponse response_;
  grpc::Status status_;
  EndedCallback ended_;

  std::mutex mutex_;  // guards all fields below, and the beginning of writes
  bool started_ = false;
  bool read_all_ = false;  // no response follows, and nothing more is written
  bool is_writing_ = false;
  bool finish_sending_ = false;
  bool finished_sending_ = false;
  std::deque<v1::StoreRequest> queue_;  // the first one is being written if is_writing_
  // Allocated in the context's memory.
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::StoreRequest, v1::StoreResponse>> stream_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_CONTROL_PLANE_GRPC_GRPC_STORE_CALL_H_
