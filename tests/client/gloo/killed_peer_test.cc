// A peer that is killed in the middle of an operation. It is a real process, forked before anything
// else runs; the two exchange their cards over a socket.

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/control_plane.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

const absl::Status& Loss() {
  static const absl::Status loss =
      absl::AbortedError("rank 1 (node b, pid 2) was lost: killed by signal 9 (SIGKILL)");
  return loss;
}

// A job of two processes at the ends of a socket. What AwaitFailure() says is set by the test.
class PairControlPlane final : public internal::ControlPlane {
 public:
  PairControlPlane(int rank, int socket) : rank_(rank), socket_(socket) {}

  void set_failure(absl::Status failure) { failure_ = std::move(failure); }

  const std::string& job_id() const override { return job_id_; }
  bool is_distributed() const override { return true; }
  uint64_t epoch() const override { return 1; }
  const std::vector<Member>& members() const override { return members_; }
  int rank() const override { return rank_; }
  absl::Duration default_timeout() const override { return absl::Seconds(60); }
  std::string local_address() const override { return "127.0.0.1"; }
  size_t max_payload_bytes() const override { return 0; }
  size_t max_name_bytes() const override { return 256; }

  absl::StatusOr<std::vector<std::string>> RunCollective(const std::string&,
                                                         const std::vector<int>&,
                                                         internal::CollectiveCall call,
                                                         const CallOptions&) override {
    std::string theirs(64 << 10, '\0');
    if (write(socket_, call.payload.data(), call.payload.size()) < 0) {
      return absl::InternalError("write");
    }
    const ssize_t got = read(socket_, theirs.data(), theirs.size());
    if (got <= 0) return absl::InternalError("read");
    theirs.resize(got);
    if (rank_ == 0) return std::vector<std::string>{call.payload, theirs};
    return std::vector<std::string>{theirs, call.payload};
  }
  absl::StatusOr<internal::LeaseOutcome> AcquireLease(const std::string&, LeaseScope,
                                                      const CallOptions&) override {
    return absl::UnimplementedError("no leases");
  }
  absl::Status CompleteLease(const std::string&, LeaseScope, uint64_t,
                             const absl::StatusOr<std::string>&) override {
    return absl::UnimplementedError("no leases");
  }
  void ReleaseLease(const std::string&, LeaseScope, uint64_t) override {}
  absl::Status Leave(const CallOptions&) override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<internal::ControlPlane>> Rejoin(const CallOptions&) override {
    return absl::UnimplementedError("one epoch");
  }
  int newcomers_waiting() const override { return 0; }
  Subscription OnNewcomers(std::function<void()>) override { return Subscription(); }
  absl::Status RequestStop(const CallOptions&) override {
    return absl::UnimplementedError("no stops");
  }
  bool stop_requested() const override { return false; }
  absl::Status health() const override { return absl::OkStatus(); }
  absl::Status AwaitFailure(absl::Duration) const override { return failure_; }
  Subscription OnFailure(std::function<void(const absl::Status&)>) override {
    return Subscription();
  }

 private:
  const int rank_;
  const int socket_;
  const std::string job_id_ = "pair";
  const std::vector<Member> members_ = {Member{0, 0, 0, "a", "host", 1},
                                        Member{1, 0, 1, "b", "host", 2}};
  absl::Status failure_;
};

Group WorldOf(internal::ControlPlane* control) {
  auto state = std::make_shared<internal::GroupState>();
  state->control = control;
  state->ranks = {0, 1};
  state->rank = control->rank();
  return Group(std::move(state));
}

class KilledPeerTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    int sockets[2];
    // Keeps messages apart.
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    child_ = fork();
    if (child_ == 0) ReduceForever(sockets[1]);
    control_ = std::make_unique<PairControlPlane>(0, sockets[0]);
  }

  void TearDown() override {
    if (child_ > 0) Kill();
  }

  [[noreturn]] static void ReduceForever(int socket) {
    PairControlPlane control(1, socket);
    auto comm = Communicator::Create(WorldOf(&control));
    std::vector<float> data(GetParam());
    while (comm.ok() && (*comm)->AllReduce(absl::MakeSpan(data)).ok()) {
    }
    _exit(0);
  }

  void Kill() {
    kill(child_, SIGKILL);
    waitpid(std::exchange(child_, 0), nullptr, 0);
  }

  // What an all-reduce ends with when the peer is killed after some of them.
  absl::Status ReduceUntilKilled() {
    auto comm = Communicator::Create(WorldOf(control_.get()));
    if (!comm.ok()) return comm.status();
    std::vector<float> data(GetParam());
    absl::Status status;
    for (int i = 0; i < 10 && status.ok(); ++i) status = (*comm)->AllReduce(absl::MakeSpan(data));
    EXPECT_TRUE(status.ok()) << status;
    Kill();
    while (status.ok()) status = (*comm)->AllReduce(absl::MakeSpan(data));
    EXPECT_EQ((*comm)->Barrier(), status);
    return status;
  }

  std::unique_ptr<PairControlPlane> control_;

 private:
  pid_t child_ = 0;
};

TEST_P(KilledPeerTest, IsNamedByTheJob) {
  control_->set_failure(Loss());
  EXPECT_EQ(ReduceUntilKilled(), Loss());
}

TEST_P(KilledPeerTest, IsNamedByItsConnectionWhereTheJobKnowsOfNoLoss) {
  const absl::Status status = ReduceUntilKilled();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr(absl::StrCat("AllReduce of ", GetParam(), " float32 (sum)")));
  EXPECT_THAT(message, HasSubstr("the connection to rank 1 (node b, pid 2) broke: "));
  EXPECT_THAT(message, HasSubstr("; the process is not known to be lost"));
}

// Small ones end between two messages, large ones most often in the middle of one.
INSTANTIATE_TEST_SUITE_P(Elements, KilledPeerTest, ::testing::Values(1, 1000, 4 << 20),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace muster
