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

// The end of one operation of a completion queue.
struct Operation {
  absl::Notification done;
  bool ok = false;
  bool Wait() {
    done.WaitForNotification();
    return ok;
  }
};

// A call whose answer is read only when the test says so: until then gRPC's flow control keeps all
// but its beginning at the daemon.
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
    rpc_->ReadInitialMetadata(&answered_);  // sends the request, too
  }
  // Gives the call up, if it has not been read.
  ~UnreadCall() {
    if (read_) return;
    context_.TryCancel();
    Read().IgnoreError();
  }

  // Blocks until the daemon has handed the answer to gRPC.
  void AwaitAnswer() { answered_.Wait(); }

  // Blocks until the call is answered, and takes the answer.
  absl::StatusOr<Response> Read() {
    AwaitAnswer();
    read_ = true;
    Response response;
    grpc::Status status;
    Operation operation;
    rpc_->Finish(&response, &status, &operation);
    operation.Wait();
    if (!status.ok()) return FromGrpc(status);
    return response;
  }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<Rpc> rpc_;
  Operation answered_;
  bool read_ = false;
};

// Many members of one job on the wire, on one connection and with one thread: what they cost the
// daemon is to be seen beside little else. Blocking calls end when all members have been answered.
class Crowd {
 public:
  Crowd(const std::string& address, int size);
  ~Crowd();

  // Opens everybody's stream, with a claim of all they know once they have joined.
  absl::Status Attach();
  absl::Status Join();
  // Ends the streams from this side.
  void Disconnect();

  // The next collective of a member; counts as completed at once. A `retry` is one more send of the
  // last one.
  using AllGatherCall = std::unique_ptr<UnreadCall<v1::AllGatherResponse>>;
  AllGatherCall AllGather(int rank, const std::string& payload);
  AllGatherCall RetryAllGather(int rank, const std::string& payload);
  // Of everybody. All are answered at return, and none is read.
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
