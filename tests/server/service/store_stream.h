#ifndef MUSTER_TESTS_SERVER_SERVICE_STORE_STREAM_H_
#define MUSTER_TESTS_SERVER_SERVICE_STORE_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "muster/v1/store.grpc.pb.h"

namespace muster::testing {

// A client of the store on the wire: a stream over a generated stub, without the SDK. It confirms
// what it has read only where a test says so.
class TestStoreClient {
 public:
  explicit TestStoreClient(const std::string& address);
  ~TestStoreClient();

  // Returns the first message of a valid stream.
  v1::StoreOpen OpenMessage();
  // Begins a stream. Nothing is sent.
  void Begin();
  // Begins a stream with its open and its claim, and reads `opened`.
  absl::Status Open();
  // Same, with this open.
  absl::Status Open(const v1::StoreOpen& open);

  // Returns false if the stream has ended.
  bool Send(const v1::StoreRequest& request);
  // Sends an operation under the next id, which it returns.
  uint64_t Send(const std::function<void(v1::StoreOperation*)>& fill);
  // Confirms all messages that were read.
  void Confirm();
  // Returns the next message, or the status of the stream if it has ended.
  absl::StatusOr<v1::StoreResponse> Read();
  // Reads, and confirms, until the answer to the operation comes.
  absl::StatusOr<v1::StoreAnswer> Answer(uint64_t operation);
  absl::StatusOr<v1::StoreAnswer> Call(const std::function<void(v1::StoreOperation*)>& fill) {
    return Answer(Send(fill));
  }

  // Ends this side of the stream, and returns the status of the stream.
  absl::Status Leave();
  // Ends the stream as a dying process does.
  void Disconnect();

  const std::string& secret() const { return secret_; }
  void set_was_served() { was_served_ = true; }

 private:
  absl::Status Finish();

  const std::string secret_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::StoreService::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::StoreRequest, v1::StoreResponse>> stream_;
  uint64_t attempts_ = 0;
  uint64_t next_operation_ = 1;
  uint64_t read_ = 0;  // messages of the stream
  bool was_served_ = false;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_SERVER_SERVICE_STORE_STREAM_H_
