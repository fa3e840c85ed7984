// Tests of Communicator over a backend that records its calls: what reaches the backend, in which
// order, and how a communicator ends.

#include "muster/communicator.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/data_plane/recording_backend.h"
#include "tests/util/process/wall_clock.h"

namespace muster {
namespace {

using ::muster::testing::CommunicatorTest;
using ::muster::testing::FakeJob;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(CommunicatorTest, PassesCallsAndTheDefaultTimeoutOn) {
  EXPECT_EQ(comm_.rank(), 1);
  EXPECT_EQ(comm_.size(), 4);
  EXPECT_EQ(comm_.backend(), "recording");
  EXPECT_TRUE(comm_.Barrier().ok());
  EXPECT_EQ(record_.timeout, absl::Seconds(7));
  CallOptions own;
  own.timeout = absl::Seconds(3);
  EXPECT_TRUE(comm_.Barrier(own).ok());
  EXPECT_EQ(record_.timeout, absl::Seconds(3));
}

TEST_F(CommunicatorTest, TheBackendFollowsTheCallersStream) {
  std::vector<float> data(4);
  int stream = 0;
  CallOptions options;
  options.stream = &stream;
  EXPECT_TRUE(comm_.AllReduce(data).ok());
  EXPECT_TRUE(comm_.AllReduce(data, ReduceOp::kSum, options).ok());
  EXPECT_THAT(record_.followed, ::testing::ElementsAre(nullptr, &stream));
  // An operation uses the stream that is current when it is started, not when it runs.
  absl::Notification proceed;
  const PendingOperation first = comm_.Start(
      [&](Communicator&) {
        proceed.WaitForNotification();
        return absl::OkStatus();
      },
      &stream);
  const PendingOperation second =
      comm_.Start([&](Communicator& comm) { return comm.AllReduce(data); });
  EXPECT_THAT(record_.followed, ::testing::ElementsAre(nullptr, &stream, &stream, nullptr));
  proceed.Notify();
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_EQ(record_.followed.size(), 4u);
}

TEST_F(CommunicatorTest, StartedCallsRunInOrderBeforeLaterCalls) {
  std::vector<float> data(1);
  std::vector<int> order;
  absl::Notification proceed;
  const PendingOperation first = comm_.Start([&](Communicator& comm) {
    proceed.WaitForNotification();
    order.push_back(1);
    return comm.AllReduce(data);
  });
  const PendingOperation second = comm_.Start([&](Communicator&) {
    order.push_back(2);
    return absl::InvalidArgumentError("its own");
  });
  EXPECT_FALSE(first.done());
  EXPECT_EQ(record_.calls, 0);
  std::thread other([&] { proceed.Notify(); });
  EXPECT_TRUE(comm_.Barrier().ok()) << "waits for its turn";
  EXPECT_THAT(order, ::testing::ElementsAre(1, 2));
  other.join();
  EXPECT_TRUE(first.done());
  EXPECT_TRUE(first.Wait().ok());
  EXPECT_EQ(second.Wait(), absl::InvalidArgumentError("its own"));
  EXPECT_EQ(second.Wait(), second.Wait());
  EXPECT_TRUE(PendingOperation().Wait().ok());
}

TEST_F(CommunicatorTest, DestroyingWaitsForStartedCalls) {
  auto comm = std::make_unique<Communicator>(job_.world(2), Options(), "recording", MakeBackend());
  absl::Notification proceed;
  const PendingOperation started = comm->Start([&](Communicator& own) {
    proceed.WaitForNotification();
    return own.Barrier();
  });
  std::thread other([&] { proceed.Notify(); });
  comm.reset();
  EXPECT_TRUE(started.done());
  EXPECT_TRUE(started.Wait().ok());
  other.join();
}

TEST_F(CommunicatorTest, StartedCallsMayThrowButNotStartMore) {
  const PendingOperation thrown =
      comm_.Start([](Communicator&) -> absl::Status { throw std::runtime_error("its own"); });
  EXPECT_EQ(thrown.Wait(), absl::InternalError("the function given to Start threw: its own"));
  const PendingOperation nested = comm_.Start([](Communicator& comm) {
    return comm.Start([](Communicator&) { return absl::OkStatus(); }).Wait();
  });
  EXPECT_EQ(nested.Wait().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(comm_.Barrier().ok()) << "neither has ended the communicator";
}

TEST_F(CommunicatorTest, ATimeOutBehindStartedCallsEndsTheCommunicator) {
  absl::Notification proceed;
  const PendingOperation started = comm_.Start([&](Communicator&) {
    proceed.WaitForNotification();
    return absl::OkStatus();
  });
  CallOptions no_wait;
  no_wait.timeout = absl::ZeroDuration();
  const testing::JumpingWallClock jumps;  // time-outs must not follow it
  const absl::Status status = comm_.Barrier(no_wait);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("for what Start() had begun before"));
  EXPECT_EQ(record_.aborted, status);
  proceed.Notify();
  EXPECT_TRUE(started.Wait().ok());
  EXPECT_EQ(comm_.Barrier(), status);
}

TEST_F(CommunicatorTest, RefusesASecondCallAtOnce) {
  absl::Notification inside, proceed;
  record_.body = [&] {
    inside.Notify();
    proceed.WaitForNotification();
  };
  std::thread first([&] { EXPECT_TRUE(comm_.Barrier().ok()); });
  inside.WaitForNotification();
  std::vector<float> data(1);
  const absl::Status second = comm_.AllReduce(absl::MakeSpan(data));
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("AllReduce on rank 1 of 4: another call on this communicator is in "
                        "progress"));
  proceed.Notify();
  first.join();
  record_.body = nullptr;
  EXPECT_TRUE(comm_.Barrier().ok());
}

TEST_F(CommunicatorTest, ReturnsTheFirstErrorAgain) {
  record_.result = absl::DeadlineExceededError("too late");
  EXPECT_EQ(comm_.Barrier(), record_.result);
  record_.result = absl::OkStatus();
  EXPECT_EQ(comm_.Barrier(), absl::DeadlineExceededError("too late"));
  EXPECT_EQ(record_.calls, 1);
}

TEST_F(CommunicatorTest, ALossAbortsTheBackendAndEndsTheCommunicator) {
  job_.Lose(3);
  EXPECT_EQ(record_.aborted, FakeJob::LossOf(3));
  EXPECT_EQ(comm_.Barrier(), FakeJob::LossOf(3));
  EXPECT_EQ(record_.calls, 0);
}

TEST_F(CommunicatorTest, ALossDuringACallIsItsError) {
  record_.body = [&] { job_.Lose(2); };
  record_.result = absl::UnavailableError("the connection broke");
  EXPECT_EQ(comm_.Barrier(), FakeJob::LossOf(2));
}

constexpr absl::Duration kSpin = absl::Milliseconds(3);

// Uses up a little of the time-out.
void Spin() {
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(kSpin);
  while (std::chrono::steady_clock::now() < until) {
  }
}

TEST_F(CommunicatorTest, TensorsOfSeveralTypesAreReducedWithinOneTimeout) {
  std::vector<float> floats(2);
  std::vector<int32_t> integers(3);
  const MutableTensorView views[] = {MutableViewOf(floats), MutableViewOf(integers)};
  record_.body = &Spin;
  EXPECT_TRUE(comm_.AllReduceCoalesced(views).ok());
  EXPECT_EQ(record_.calls, 2);
  EXPECT_LT(record_.timeout, absl::Seconds(7) - kSpin / 2);
  record_.body = [&] {
    Spin();
    if (record_.calls == 4) record_.result = absl::DeadlineExceededError("too late");
  };
  const absl::Status status = comm_.AllReduceCoalesced(views);
  EXPECT_THAT(status.ToString(),
              AllOf(HasSubstr("too late"), HasSubstr("were left of the call's 7s")));
}

TEST_F(CommunicatorTest, ManyBuffersAreReducedWithinOneTimeout) {
  record_.body = &Spin;
  std::vector<float> a(2), b(3);
  const absl::Span<float> buffers[] = {absl::MakeSpan(a), absl::MakeSpan(b)};
  EXPECT_TRUE(comm_.AllReduceCoalesced<float>(buffers).ok());
  EXPECT_EQ(record_.calls, 2);
  EXPECT_LT(record_.timeout, absl::Seconds(7));
  record_.result = absl::UnavailableError("broken");
  EXPECT_EQ(comm_.AllReduceCoalesced<float>(buffers), record_.result);
  EXPECT_EQ(record_.calls, 3);
}

}  // namespace
}  // namespace muster
