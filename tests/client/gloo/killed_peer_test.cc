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
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/util/pair_control_plane.h"

namespace muster {
namespace {

using ::muster::testing::PairControlPlane;
using ::muster::testing::WorldOf;
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
    // Keeps messages apart.
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

  // What an all-reduce ends with when the peer is killed after some of them.
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

TEST_P(KilledPeerTest, IsNamedByItsConnectionWhereTheJobKnowsOfNoLoss) {
  const absl::Status status = ReduceUntilKilled();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr(absl::StrCat("AllReduce of ", GetParam(), " float32 (sum)")));
  EXPECT_THAT(message, HasSubstr("the connection to rank 1 (node 'a', pid 2) broke: "));
  EXPECT_THAT(message, HasSubstr("; the process is not known to be lost"));
}

// Small ones end between two messages, large ones most often in the middle of one.
INSTANTIATE_TEST_SUITE_P(Elements, KilledPeerTest, ::testing::Values(1, 1000, 4 << 20),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace muster
