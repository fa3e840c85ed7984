// Tests of which thread takes the coordinator's messages if several threads wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/client/control_plane/remote_test.h"

namespace muster::internal {
namespace {

class RemotePollingTest : public RemoteTest {
 protected:
  void SetUp() override {
    Join();
    absl::StatusOr<Group> pair = job_->NewGroup("pair", {1, 0});
    ASSERT_TRUE(pair.ok()) << pair.status();
    pair_.emplace(*std::move(pair));
  }

  std::future<absl::Status> StartPairBarrier(CallOptions options = {}) {
    return std::async(std::launch::async, [this, options] { return pair_->Barrier("", options); });
  }

  static void Answer(const std::shared_ptr<FakeCoordinator::Call>& call) {
    call->Reply(absl::OkStatus(), v1::BarrierResponse());
  }

  std::optional<Group> pair_;
};

TEST_F(RemotePollingTest, AWaitingThreadTakesItsOwnAnswer) {
  // Before the first call no thread of the program waits, and the stand-in thread takes the
  // messages.
  for (bool by_itself = false; !by_itself;) {
    std::thread::id caller;
    auto done = std::async(std::launch::async, [&] {
      caller = std::this_thread::get_id();
      EXPECT_TRUE(job_->Barrier("one").ok());
      return job_->Barrier("two");
    });
    Answer(coordinator_.NextCall());
    const auto second = coordinator_.NextCall();
    Answer(second);
    EXPECT_TRUE(done.get().ok());
    by_itself = second->events->thread() == caller;
  }
}

TEST_F(RemotePollingTest, OneThreadTakesAnswersForOthersToo) {
  for (const bool first_to_wait_ends_first : {true, false}) {
    auto world = StartBarrier("world");
    const auto call_of_world = coordinator_.NextCall();
    auto pair = StartPairBarrier();
    const auto call_of_pair = coordinator_.NextCall();
    Answer(first_to_wait_ends_first ? call_of_world : call_of_pair);
    EXPECT_TRUE((first_to_wait_ends_first ? world : pair).get().ok());
    Answer(first_to_wait_ends_first ? call_of_pair : call_of_world);
    EXPECT_TRUE((first_to_wait_ends_first ? pair : world).get().ok());
  }
}

// The first thread that waits may be the polling one, and no event comes that would end its poll.
TEST_F(RemotePollingTest, ThreadsThatWaitForASessionCanBeCancelled) {
  stream_->End(absl::UnavailableError("connection reset"));
  const auto next_attach = coordinator_.NextStream();
  Cancellation cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  auto world = StartBarrier("world", options);
  auto pair = StartPairBarrier(options);
  cancellation.Cancel();
  EXPECT_TRUE(absl::IsCancelled(world.get()));
  EXPECT_TRUE(absl::IsCancelled(pair.get()));
}

TEST_F(RemotePollingTest, ThreadsThatWaitForASessionTimeOut) {
  stream_->End(absl::UnavailableError("connection reset"));
  const auto next_attach = coordinator_.NextStream();
  CallOptions options;
  options.timeout = absl::Milliseconds(1);
  auto world = StartBarrier("world", options);
  auto pair = StartPairBarrier(options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(world.get()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(pair.get()));
}

}  // namespace
}  // namespace muster::internal
