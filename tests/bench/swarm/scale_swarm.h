#ifndef MUSTER_TESTS_BENCH_SWARM_SCALE_SWARM_H_
#define MUSTER_TESTS_BENCH_SWARM_SCALE_SWARM_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::testing {

inline constexpr int kMembersOfNode = 8;

// Returns AttachRequest.secret of a member, by its number in the job.
std::string SecretOf(int number);

// Many members of one job on the wire, without the SDK. One thread receives all answers. Each call
// below is made by all members at once, and returns when the last of them has been answered.
// Rosters and payloads in answers are received but not parsed, since that would cost this process
// more than the daemon spends.
class Swarm {
 public:
  // Creates the members from number `first`: `count` of the `world`, with `per_connection` of them
  // on each connection.
  Swarm(int first, int count, int world, int per_connection);
  ~Swarm();

  // Opens the streams, with a claim if the members have joined.
  absl::Status Attach(const std::string& address);
  absl::Status Join();
  absl::Status Barrier();
  absl::Status AllGather(size_t bytes);
  // Make the same collectives with one call for each node, as node fan-in does.
  absl::Status BarrierByNode();
  absl::Status AllGatherByNode(size_t bytes);

  // Starts a barrier at all members but the job's last one.
  void Park();
  // Blocks until the parked calls and all streams have reported a loss.
  absl::Status AwaitLoss();
  // Blocks until the streams have ended, as they do when the daemon is killed.
  absl::Status AwaitEnd();

  // Returns the bytes of all answers since the last call of TakeBytes().
  int64_t TakeBytes();

 private:
  struct Member;
  // The meaning of a completion in gRPC's queue.
  struct Tag {
    enum Kind { kStarted, kEvent, kEnded, kAnswered };
    Member* member = nullptr;
    Kind kind = kStarted;
  };
  // The number of members that have got so far since the waiting call began.
  struct Progress {
    int attached = 0;
    int answered = 0;
    int losses = 0;  // reported by their streams
    int ended = 0;   // streams
    absl::Status error;
  };
  using MakeRequest = std::function<grpc::ByteBuffer(Member*)>;

  v1::AttachRequest AttachRequest(Member* member) const;
  v1::CallContext CallContext(Member* member) const;
  v1::CollectiveContext CollectiveContext(Member* member) const;

  void StartStream(Member* member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartCall(Member* member, const std::string& method, const grpc::ByteBuffer& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartBarriers(size_t count);
  absl::Status CallAll(const std::string& method, const MakeRequest& request);
  // `call` contains the fields that all parts share.
  absl::Status CallByNode(v1::NodeCollectiveRequest call, const std::string& payload);
  absl::Status Await(int Progress::*counter, size_t count);

  void ReceiveAll();
  void Handle(const Tag& tag, bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeEvent(Member* member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeEnd(Member* member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeAnswer(Member* member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeNodeAnswer(Member* sender) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int world_;
  const size_t per_connection_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<v1::CoordinatorService::Stub>> streams_;  // one for each connection
  std::vector<std::unique_ptr<grpc::GenericStub>> calls_;               // the same ones
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Member>> members_ ABSL_GUARDED_BY(mutex_);
  Progress progress_ ABSL_GUARDED_BY(mutex_);
  bool attaching_ ABSL_GUARDED_BY(mutex_) = false;  // streams that end are opened again
  bool losing_ ABSL_GUARDED_BY(mutex_) = false;     // calls and streams are expected to fail
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The first member's place, for the claim that must list the roster.
  v1::JoinResponse roster_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_SWARM_SCALE_SWARM_H_
