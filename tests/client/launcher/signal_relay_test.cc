// Tests of which signals a launcher passes on to its supervisor.
#include "client/launcher/process/signal_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/wait_until.h"

namespace muster::launcher {
namespace {

using muster::testing::WaitUntil;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr pid_t kSender = 4711;
constexpr pid_t kOther = 4712;

struct Pipe {
  int read_end;
  int write_end;
};
Pipe NewPipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  return {ends[0], ends[1]};
}

class SignalRelayTest : public ::testing::Test {
 protected:
  ~SignalRelayTest() override {
    close(pipe_.read_end);
    close(pipe_.write_end);
  }

  // Returns what the supervisor has got since the last call.
  std::string Got() {
    char bytes[64];
    const ssize_t size = read(pipe_.read_end, bytes, sizeof(bytes));
    return std::string(bytes, size > 0 ? static_cast<size_t>(size) : 0);
  }

  const Pipe pipe_ = NewPipe();
  SignalRelay relay_{pipe_.write_end};
};

TEST_F(SignalRelayTest, ForwardsEachRequest) {
  relay_.Forward(SIGINT, kSender);
  relay_.Forward(SIGTERM, kSender);
  relay_.Forward(SIGTERM, kOther);
  relay_.Forward(SIGUSR1, kSender);
  relay_.Forward(SIGUSR1, kSender);
  EXPECT_THAT(Got(), ElementsAre(SIGINT, SIGTERM, SIGTERM, SIGUSR1, SIGUSR1));
  EXPECT_EQ(relay_.ending_signal(), SIGINT);
}

// A user may hold down Ctrl-C, or a script may signal until the run has ended.
TEST_F(SignalRelayTest, ForwardsAgainDuringABurst) {
  std::string got;
  EXPECT_TRUE(WaitUntil([&] {
    relay_.Forward(SIGINT, kSender);
    got += Got();
    return got.size() > 1;
  }));
  EXPECT_THAT(got, SizeIs(2));
}

}  // namespace
}  // namespace muster::launcher
