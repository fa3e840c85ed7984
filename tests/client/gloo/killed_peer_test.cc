// Tests of a peer that is killed or stopped in the middle of an operation. The peer is a real
// process, forked before any threads start. The two exchange their cards over a socket.

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "muster/error_facts.h"
#include "tests/client/gloo/communicators.h"
#include "tests/util/fakes/pair_control_plane.h"

namespace muster {
namespace {

using ::muster::testing::PairControlPlane;
using ::muster::testing::WorldOf;
using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Status& Loss() {
  static const absl::Status loss =
      absl::AbortedError("rank 1 (node 'a', pid 2) was lost: killed by signal 9 (SIGKILL)");
  return loss;
}

class KilledPeerTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    int sockets[2];
    // SOCK_SEQPACKET keeps the boundaries of messages.
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    child_ = fork();
    if (child_ == 0) ReduceForever(sockets[1]);
    control_ = std::make_shared<PairControlPlane>(0, sockets[0]);
  }

  void TearDown() override {
    if (child_ > 0) Kill();
  }

  [[noreturn]] static void ReduceForever(int socket) {
    auto comm = Communicator::Create(WorldOf(std::make_shared<PairControlPlane>(1, socket)));
    std::vector<float> data(GetParam());
    while (comm.ok() && (*comm)->AllReduce(absl::MakeSpan(data)).ok()) {
    }
    _exit(0);
  }

  void Kill() {
    kill(child_, SIGKILL);
    waitpid(std::exchange(child_, 0), nullptr, 0);
  }

  // Kills the peer after some all-reduces, and returns the error of the next one.
  absl::Status ReduceUntilKilled() {
    auto comm = Communicator::Create(WorldOf(control_));
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

  std::shared_ptr<PairControlPlane> control_;

 private:
  pid_t child_ = 0;
};

TEST_P(KilledPeerTest, IsNamedByTheJob) {
  control_->set_failure(Loss());
  EXPECT_EQ(ReduceUntilKilled(), Loss());
}

TEST_P(KilledPeerTest, IsNamedByItsConnectionIfTheJobReportsNoLoss) {
  const absl::Status status = ReduceUntilKilled();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr(absl::StrCat("AllReduce of ", GetParam(), " float32 (sum)")));
  EXPECT_THAT(message, HasSubstr("the connection to rank 1 (node 'a', pid 2) broke: "));
  EXPECT_THAT(message, HasSubstr("; the process is not known to be lost"));
  EXPECT_EQ(FactsOf(status).rank, 1);
  EXPECT_EQ(FactsOf(status).node, "a");
  EXPECT_EQ(FactsOf(status).pid, 2);
}

// Small all-reduces end between two messages, and large ones mostly in the middle of a message.
INSTANTIATE_TEST_SUITE_P(Elements, KilledPeerTest, ::testing::Values(1, 1000, 4 << 20),
                         ::testing::PrintToStringParamName());

constexpr size_t kMessage = 64 << 20;

// The peer's message and error, in shared memory.
struct Received {
  std::array<std::atomic<char>, kMessage> data;
  char error[1024];
};

Received* NewReceived() {
  return static_cast<Received*>(
      mmap(nullptr, sizeof(Received), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

[[noreturn]] void ReceiveForever(int socket, Received* received) {
  auto comm = Communicator::Create(WorldOf(std::make_shared<PairControlPlane>(1, socket)));
  const absl::Span<char> data(reinterpret_cast<char*>(received->data.data()), kMessage);
  absl::Status status = comm.status();
  while (status.ok()) status = (*comm)->Recv(data, 0);
  status.ToString().copy(received->error, sizeof(received->error) - 1);
  _exit(0);
}

absl::Status SendForever(int socket) {
  auto comm = Communicator::Create(WorldOf(std::make_shared<PairControlPlane>(0, socket)));
  const std::vector<char> data(kMessage, 1);
  CallOptions options;
  options.timeout = absl::Milliseconds(500);
  absl::Status status = comm.status();
  while (status.ok()) status = (*comm)->Send(absl::MakeConstSpan(data), 1, options);
  return status;
}

// The peer is stopped, so only as much of the message as the kernel buffers can leave this rank,
// and nothing behind it. The BUILD file leaves this test out if ranks share no memory: then the
// end notice is behind the message, on the same connection.
TEST(StoppedPeerTest, LearnsWhyAMessageWasCutOffAfterItResumes) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  Received* const received = NewReceived();
  const pid_t child = fork();
  if (child == 0) ReceiveForever(sockets[1], received);
  std::atomic<bool> ended{false};
  std::thread stopper([&] {
    while (received->data.front() == 0 && !ended) std::this_thread::yield();
    kill(child, SIGSTOP);
  });
  const absl::Status status = SendForever(sockets[0]);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  ended = true;
  stopper.join();
  kill(child, SIGCONT);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(std::string(received->error),
              AllOf(HasSubstr("rank 0 (node 'a', pid 1) is no longer there: "),
                    HasSubstr("Send of 67108864 int8 to rank 1 did not end within 500ms")));
  munmap(received, sizeof(Received));
}

}  // namespace
}  // namespace muster
