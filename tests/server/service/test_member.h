#ifndef MUSTER_TESTS_SERVER_SERVICE_TEST_MEMBER_H_
#define MUSTER_TESTS_SERVER_SERVICE_TEST_MEMBER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::testing {

using Stub = v1::CoordinatorService::Stub;

// Reverses the service's conversion.
absl::Status FromGrpc(const grpc::Status& status);

// Returns a channel that shares no connection with others of this process.
std::shared_ptr<grpc::Channel> Connect(const std::string& address);

// Returns a daemon's status. Tests wait with it for the state that they need.
absl::StatusOr<v1::GetStatusResponse> GetStatus(Stub* stub, const std::string& job = "",
                                                bool with_timeline = false);
// Polls the status until `reached` returns true. At the time-out, fails the test and shows the last
// status.
void AwaitStatus(Stub* stub, const std::function<bool(const v1::GetStatusResponse&)>& reached);

// One member of a job on the wire: blocking calls over a generated stub, without the SDK. Each call
// has a gRPC deadline, so that a broken daemon fails a test instead of blocking it.
class TestMember {
 public:
  struct Options {
    std::string job = "default";
    std::string node = "node-a";
    int64_t start_time_seconds = 1;
    absl::Duration wait_timeout = absl::Seconds(60);
  };

  explicit TestMember(const std::string& address) : TestMember(address, Options()) {}
  TestMember(const std::string& address, Options options)
      : TestMember(Connect(address), std::move(options)) {}
  TestMember(const std::shared_ptr<grpc::Channel>& channel, Options options);
  ~TestMember();

  v1::AttachRequest AttachRequest() const;
  // Opens the stream and reads the first event.
  absl::Status Attach() { return Attach(AttachRequest()); }
  absl::Status Attach(const v1::AttachRequest& request);
  // Attaches as soon as the daemon can be reached. With many threads, gRPC takes the errno of
  // another call for that of connect(), and gives up a connection that would have been made.
  absl::Status AttachWhenReachable();
  // Attaches with a claim, as soon as a daemon can be reached again.
  absl::Status AttachAgain();
  // Returns the member's claim: its epoch, and how many collectives of the world it has completed.
  v1::Claim Claim() const;
  // Blocks for the next event of the stream. Returns the stream's status if it ends instead.
  absl::StatusOr<v1::AttachResponse> NextEvent();
  // Ends the stream from this side, as a dying process does.
  void Disconnect();

  absl::StatusOr<v1::JoinResponse> Join(uint32_t world_size);
  // Leaves the epoch for the next one.
  absl::StatusOr<v1::RejoinResponse> Rejoin();
  absl::Status Barrier(const std::string& label = "");
  absl::StatusOr<std::string> Broadcast(uint32_t root, const std::string& payload);
  absl::StatusOr<v1::GatherResponse> Gather(uint32_t root, const std::string& payload);
  absl::StatusOr<v1::AllGatherResponse> AllGather(const std::string& payload);
  absl::StatusOr<v1::AcquireLeaseResponse> AcquireLease(const std::string& name,
                                                        uint64_t request_id);
  absl::Status CompleteLease(const std::string& name, uint64_t token, const std::string& value);
  absl::Status AbandonLease(const std::string& name, uint64_t request_id);
  absl::Status Leave();

  // Return valid parts of requests of this member, for tests that change a field or send them
  // alone.
  v1::CallContext CallContext();
  v1::CollectiveContext CollectiveContext();

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    grpc::ClientContext context;
    SetDeadline(&context);
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }

  Stub* stub() { return stub_.get(); }
  const v1::MemberIdentity& identity() const { return identity_; }
  const std::string& secret() const { return secret_; }
  const v1::Attached& attached() const { return attached_; }
  uint64_t completed() const { return sequence_; }
  // Makes the member send its next collective as if it had completed this many.
  void set_completed(uint64_t sequence) { sequence_ = sequence; }
  uint32_t rank() const { return joined_.rank(); }
  const v1::EpochId& epoch() const { return joined_.epoch(); }
  void set_wait_timeout(absl::Duration timeout) { options_.wait_timeout = timeout; }

 private:
  void SetDeadline(grpc::ClientContext* context) const;
  // Counts the sequence number if the collective has completed.
  template <typename Response>
  absl::StatusOr<Response> Completed(absl::StatusOr<Response> result);

  Options options_;
  std::string secret_;
  v1::MemberIdentity identity_;
  std::unique_ptr<Stub> stub_;
  bool waits_for_daemon_ = false;  // when the stream is opened
  std::unique_ptr<grpc::ClientContext> stream_context_;
  std::unique_ptr<grpc::ClientReader<v1::AttachResponse>> stream_;
  v1::Attached attached_;
  v1::JoinResponse joined_;
  uint64_t attempts_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_SERVER_SERVICE_TEST_MEMBER_H_
