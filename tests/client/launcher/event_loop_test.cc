// The loop of a launcher: descriptors, timers, and how it waits for them.
#include "client/launcher/process/event_loop.h"

#include <unistd.h>

#include <array>
#include <thread>

#include "absl/time/time.h"
#include "common/process/steady_now.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

class EventLoopTest : public ::testing::Test {
 protected:
  EventLoopTest() {
    EXPECT_EQ(pipe(pipe_.data()), 0);
    loop_.Watch(pipe_[0], [this] {
      char byte = 0;
      EXPECT_EQ(read(pipe_[0], &byte, 1), 1);
      ++reads_;
    });
  }
  ~EventLoopTest() override {
    for (const int fd : pipe_) close(fd);
  }

  void MakeReadable() { EXPECT_EQ(write(pipe_[1], "x", 1), 1); }

  EventLoop loop_;
  std::array<int, 2> pipe_ = {};
  int reads_ = 0;
};

TEST_F(EventLoopTest, CallsTheHandlerOfAReadableDescriptor) {
  MakeReadable();
  loop_.Poll(absl::InfiniteDuration());
  EXPECT_EQ(reads_, 1);
  loop_.Poll(absl::ZeroDuration());
  EXPECT_EQ(reads_, 1);
}

TEST_F(EventLoopTest, ADescriptorWakesALoopThatStaysAwake) {
  loop_.StayAwake(absl::Hours(1));
  std::thread other([this] { MakeReadable(); });
  loop_.Poll(absl::InfiniteDuration());
  other.join();
  EXPECT_EQ(reads_, 1);
}

TEST_F(EventLoopTest, ALoopThatStaysAwakeKeepsItsTimeOut) {
  loop_.StayAwake(absl::Hours(1));
  loop_.Poll(absl::Milliseconds(1));
  loop_.Poll(absl::ZeroDuration());
  EXPECT_EQ(reads_, 0);
}

TEST_F(EventLoopTest, ALoopThatStaysAwakeRunsItsTimers) {
  bool ran = false;
  loop_.At(SteadyNow() + absl::Milliseconds(1), [&] { ran = true; });
  loop_.StayAwake(absl::Hours(1));
  while (!ran) loop_.Poll(absl::InfiniteDuration());
}

TEST_F(EventLoopTest, ALoopThatWasAwakeBlocksAgain) {
  loop_.StayAwake(absl::Microseconds(1));
  std::thread other([this] { MakeReadable(); });
  loop_.Poll(absl::InfiniteDuration());
  other.join();
  EXPECT_EQ(reads_, 1);
}

}  // namespace
}  // namespace muster::launcher
