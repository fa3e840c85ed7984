// Tests of forks of a process that has a communicator. The fork has copies of the sockets, but none
// of the threads.

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/util/fakes/pair_control_plane.h"

namespace muster {
namespace {

using ::muster::testing::PairControlPlane;
using ::muster::testing::WorldOf;

// Seconds after which a process that hangs is killed. Far more than any test here takes.
constexpr unsigned kHangs = 60;

class ForkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    peer_ = fork();
    if (peer_ == 0) _exit(ReduceTwice(sockets[1]) ? 0 : 1);
    auto comm = Communicator::Create(WorldOf(std::make_shared<PairControlPlane>(0, sockets[0])));
    ASSERT_TRUE(comm.ok()) << comm.status();
    comm_ = *std::move(comm);
  }

  void TearDown() override {
    int status = -1;
    ASSERT_EQ(waitpid(peer_, &status, 0), peer_);
    EXPECT_EQ(status, 0) << "the peer has seen an error, or hung";
  }

  static absl::Status Reduce(Communicator& comm) {
    std::vector<float> data(1000, 1);
    absl::Status status = comm.AllReduce(data);
    if (status.ok() && data[999] != 2) status = absl::DataLossError("the sum is wrong");
    return status;
  }

  // Runs as rank 1.
  static bool ReduceTwice(int socket) {
    alarm(kHangs);
    auto comm = Communicator::Create(WorldOf(std::make_shared<PairControlPlane>(1, socket)));
    return comm.ok() && Reduce(**comm).ok() && Reduce(**comm).ok();
  }

  // Runs `body` in a fork, and expects that it soon returns true.
  void InFork(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kHangs);
      _exit(body() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the fork has failed, or hung: " << status;
  }

  bool IsRefused(const absl::Status& status) {
    return absl::IsFailedPrecondition(status) &&
           status.message().find("is a fork of process") != std::string::npos;
  }

  pid_t peer_ = 0;
  std::unique_ptr<Communicator> comm_;
};

TEST_F(ForkTest, CallsAreRejectedAndDestroyingDoesNotDisturbTheParent) {
  EXPECT_TRUE(Reduce(*comm_).ok());
  InFork([&] {
    std::vector<float> data(1);
    const bool refused =
        IsRefused(comm_->AllReduce(data)) && IsRefused(comm_->Barrier()) &&
        IsRefused(comm_->Send(data, 1)) &&
        IsRefused(comm_->Start([](Communicator& comm) { return comm.Barrier(); }).Wait());
    comm_.reset();
    return refused;
  });
  EXPECT_TRUE(Reduce(*comm_).ok()) << "the connections are as they were";
}

TEST_F(ForkTest, OperationsInFlightBelongToTheParent) {
  PendingOperation pending = comm_->Start([](Communicator& comm) {
    absl::Status status = Reduce(comm);
    return status.ok() ? Reduce(comm) : status;
  });
  InFork([&] {
    // The operation may have ended before the fork.
    const absl::Status status = pending.Wait();
    pending = PendingOperation();
    comm_.reset();
    return status.ok() || IsRefused(status);
  });
  EXPECT_TRUE(pending.Wait().ok());
}

}  // namespace
}  // namespace muster
