// Tests of connections between SDK and daemon that break and heal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "absl/synchronization/blocking_counter.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"
#include "tests/util/job/status_reader.h"
#include "tests/util/network/tcp_proxy.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// Rank 0 reaches the daemon through a proxy, rank 1 directly.
class ConnectionTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags) {
    daemon_ = TestDaemon::Start(flags);
    ASSERT_NE(daemon_, nullptr);
    proxy_ = std::make_unique<TcpProxy>(daemon_->port());
    jobs_ = std::make_unique<Jobs>(daemon_->address(), 2, [this](int rank, JobOptions* options) {
      if (rank == 0) options->coordinator = proxy_->address();
      options->coordinator_timeout = coordinator_timeout_;
    });
    status_ = std::make_unique<StatusReader>(daemon_->address());
  }

  std::unique_ptr<TestDaemon> daemon_;
  std::unique_ptr<TcpProxy> proxy_;
  absl::Duration coordinator_timeout_ = absl::Seconds(60);
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<StatusReader> status_;
};

TEST_F(ConnectionTest, WaitingCallSurvivesACutWithinTheGrace) {
  Start({"--member-grace=60s"});
  Job& cut = (*jobs_)[0];
  Job& other = (*jobs_)[1];
  for (int round = 1; round <= 3; ++round) {
    auto waiting = std::async(std::launch::async, [&] { return cut.AllGather(10 * round); });
    ASSERT_TRUE(status_->WaitForParked(1, "AllGather"));
    proxy_->Cut();
    proxy_->WaitForConnections(round + 1);
    EXPECT_EQ(*other.AllGather(round), (std::vector<int>{10 * round, round}));
    EXPECT_EQ(*waiting.get(), (std::vector<int>{10 * round, round}));
  }
  EXPECT_TRUE(cut.health().ok());
}

TEST_F(ConnectionTest, CallsDuringAnOutageAreSentAfterIt) {
  Start({"--member-grace=60s"});
  absl::BlockingCounter begun(2);
  proxy_->Refuse(true);
  proxy_->Cut();
  auto barrier = std::async(std::launch::async, [&] {
    begun.DecrementCount();
    return (*jobs_)[0].Barrier("x");
  });
  auto lease = std::async(std::launch::async, [&] {
    begun.DecrementCount();
    return (*jobs_)[0].RunOncePerJob("work", [] { return 7; });
  });
  begun.Wait();
  proxy_->WaitForRefusals(2);
  proxy_->Refuse(false);
  EXPECT_TRUE((*jobs_)[1].Barrier("x").ok());
  EXPECT_TRUE(barrier.get().ok());
  EXPECT_EQ(*lease.get(), 7);
}

// Simulates a machine that thousands of processes connect to at once.
TEST_F(ConnectionTest, ASlowHandshakeGetsMoreTime) {
  Start({"--member-grace=60s"});
  proxy_->Delay(std::chrono::seconds(6));
  proxy_->Cut();
  auto slow = std::async(std::launch::async, [&] { return (*jobs_)[0].Barrier("x"); });
  EXPECT_TRUE((*jobs_)[1].Barrier("x").ok());
  EXPECT_TRUE(slow.get().ok());
}

TEST_F(ConnectionTest, AMemberThatStaysCutOffIsLostAndLearnsIt) {
  Start({"--member-grace=100ms"});
  proxy_->Refuse(true);
  proxy_->Cut();
  const absl::Status lost = (*jobs_)[1].AwaitFailure(absl::InfiniteDuration());
  EXPECT_THAT(Message(lost), HasSubstr("rank 0"));
  proxy_->Refuse(false);
  const absl::Status own = (*jobs_)[0].AwaitFailure(absl::InfiniteDuration());
  EXPECT_EQ(own.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Message(own), HasSubstr("was lost"));
}

TEST_F(ConnectionTest, ATimeOutDuringAnOutageNamesTheOutage) {
  Start({"--member-grace=60s"});
  proxy_->Refuse(true);
  proxy_->Cut();
  const absl::Status status = (*jobs_)[0].Barrier("x", {absl::Milliseconds(500)});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status),
              HasSubstr("could not reach the coordinator at " + proxy_->address()));
  proxy_->Refuse(false);
  for (const absl::Status& done : jobs_->OnAll([](Job& job) { return job.Barrier("x"); })) {
    EXPECT_TRUE(done.ok()) << done;
  }
}

TEST_F(ConnectionTest, AnUnreachableCoordinatorIsGivenUp) {
  coordinator_timeout_ = absl::Seconds(3);  // a busy machine starts slowly
  Start({"--member-grace=60s"});
  proxy_->Refuse(true);
  proxy_->Cut();
  const absl::Status status = (*jobs_)[0].Barrier("x");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("last error: "));
}

}  // namespace
}  // namespace muster::testing
