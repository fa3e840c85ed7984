#ifndef MUSTER_TESTS_SERVER_SERVICE_CROWD_H_
#define MUSTER_TESTS_SERVER_SERVICE_CROWD_H_

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/async_unary_call.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "tests/server/service/test_member.h"

namespace muster::testing {

// Connects with the smallest windows, so that unread bytes stay at the daemon.
std::shared_ptr<grpc::Channel> ConnectSlowly(const std::string& address);

// A tag of a completion queue that waits for the end of one operation.
struct QueuedOperation {
  absl::Notification done;
  bool ok = false;
  bool Wait() {
    done.WaitForNotification();
    return ok;
  }
};

// A call whose answer stays unread until Read(). Until then, gRPC's flow control keeps all but the
// beginning of the answer at the daemon.
template <typename Response>
class UnreadCall {
 public:
  using Rpc = grpc::ClientAsyncResponseReader<Response>;

  template <typename Request>
  UnreadCall(Stub* stub,
             std::unique_ptr<Rpc> (Stub::*prepare)(grpc::ClientContext*, const Request&,
                                                   grpc::CompletionQueue*),
             const Request& request, grpc::CompletionQueue* queue)
      : rpc_((stub->*prepare)(&context_, request, queue)) {
    rpc_->StartCall();
    rpc_->ReadInitialMetadata(&answered_);  // also sends the request
  }
  // Cancels the call if its answer was not read.
  ~UnreadCall() {
    if (read_) return;
    context_.TryCancel();
    Read().IgnoreError();
  }

  // Blocks until the daemon has handed the answer to gRPC.
  void AwaitAnswer() { answered_.Wait(); }

  // Blocks until the call is answered, and returns the answer.
  absl::StatusOr<Response> Read() {
    AwaitAnswer();
    read_ = true;
    Response response;
    grpc::Status status;
    QueuedOperation operation;
    rpc_->Finish(&response, &status, &operation);
    operation.Wait();
    if (!status.ok()) return FromGrpc(status);
    return response;
  }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<Rpc> rpc_;
  QueuedOperation answered_;
  bool read_ = false;
};

// Many members of one job that share one connection and one thread. So the members cost little, and
// what they cost the daemon can be measured. Blocking functions return when all members have been
// answered.
class Crowd {
 public:
  Crowd(const std::string& address, int size);
  ~Crowd();

  // Opens the stream of each member, with a full claim if the members have joined.
  absl::Status Attach();
  absl::Status Join();
  // Ends the streams from this side.
  void Disconnect();

  // Sends the next collective of a member, and counts it as completed at once. RetryAllGather()
  // sends the last one again.
  using AllGatherCall = std::unique_ptr<UnreadCall<v1::AllGatherResponse>>;
  AllGatherCall AllGather(int rank, const std::string& payload);
  AllGatherCall RetryAllGather(int rank, const std::string& payload);
  // Sends the next collective of every member. Returns when all are answered; none is read.
  std::vector<AllGatherCall> AllGatherOfAll(const std::string& payload);

  int size() const { return static_cast<int>(members_.size()); }
  Stub* stub() { return stub_.get(); }

 private:
  struct Member {
    std::string secret;
    v1::MemberIdentity identity;
    v1::SessionId session;
    v1::JoinResponse place;
    uint64_t attempts = 0;
    uint64_t completed = 0;
    std::unique_ptr<grpc::ClientContext> stream_context;
    std::unique_ptr<grpc::ClientAsyncReader<v1::AttachResponse>> stream;
  };

  v1::CallContext CallContext(Member* member) const;
  v1::AttachRequest AttachRequest(Member* member) const;
  absl::Status ReadFirstEvent(Member* member);
  AllGatherCall SendAllGather(Member* member, uint64_t sequence, const std::string& payload);

  const std::unique_ptr<Stub> stub_;
  grpc::CompletionQueue queue_;
  std::vector<Member> members_;
  std::thread thread_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_SERVER_SERVICE_CROWD_H_
