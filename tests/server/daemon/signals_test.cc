// How musterd reacts to signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// For example when a terminal is closed, or when an administrator sends SIGHUP out of habit.
TEST(SignalsTest, IgnoresSignalsThatDoNotTerminate) {
  const auto daemon = TestDaemon::Start();
  Process& process = daemon->process();
  process.Signal(SIGUSR2);
  process.Signal(SIGUSR1);
  process.Signal(SIGHUP);
  EXPECT_TRUE(process.WaitForOutput("SIGHUP: reading the files of tokens and certificates again"));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), (Exit{false, 0}));
  EXPECT_THAT(process.Output(), HasSubstr("draining: told to stop by a signal"));
}

}  // namespace
}  // namespace muster::testing
