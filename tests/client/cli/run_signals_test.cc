// Tests of `muster run` and signals that do not end the run, and of Ctrl-Z.

#include <signal.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Exit kSuccess = {false, 0};

// Returns the state as ps(1) shows it: R, S, T (stopped)...
char StateOf(pid_t pid) {
  const std::string stat = ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  const size_t end = stat.rfind(')');
  return end == std::string::npos ? 'X' : stat[end + 2];
}

bool AllStopped(const std::vector<pid_t>& pids) {
  return std::all_of(pids.begin(), pids.end(), [](pid_t pid) { return StateOf(pid) == 'T'; });
}

bool NoneStopped(const std::vector<pid_t>& pids) {
  return std::none_of(pids.begin(), pids.end(), [](pid_t pid) { return StateOf(pid) == 'T'; });
}

// ---- SIGUSR1 and the like ----

class RanksOwnSignalTest : public ::testing::TestWithParam<int> {};

TEST_P(RanksOwnSignalTest, ReachesEveryRankAndTheRunGoesOn) {
  const std::string file = MakeTempDir() + "/end";
  MusterCommand muster(
      RunShell({"--nproc-per-node=2"},
               absl::StrCat("trap 'echo got it' USR1 USR2 WINCH; echo ready; until [ -e ", file,
                            " ]; do sleep 0.01; done; echo done")));
  ASSERT_TRUE(muster.process().WaitForOutput("[0] ready"));
  ASSERT_TRUE(muster.process().WaitForOutput("[1] ready"));
  muster.process().Signal(GetParam());
  EXPECT_TRUE(muster.process().WaitForOutput("[0] got it"));
  EXPECT_TRUE(muster.process().WaitForOutput("[1] got it"));
  std::ofstream(file).close();
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(WithoutCoordinator(muster.process().Output()), Not(HasSubstr("muster: ")));
}

INSTANTIATE_TEST_SUITE_P(All, RanksOwnSignalTest, ::testing::Values(SIGUSR1, SIGUSR2, SIGWINCH));

// ---- Ctrl-Z ----

class CtrlZTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(muster_.WaitForProcesses("sleep 1001", 4));
    // Processes that a rank has started are in the rank's process group, so they stop with it.
    ranks_ = muster_.ProcessesRunning("sleep 1001");
    muster_.process().Signal(SIGTSTP);
    ASSERT_TRUE(WaitUntil([this] { return AllStopped(ranks_); }));
    ASSERT_TRUE(WaitUntil([this] { return StateOf(muster_.process().pid()) == 'T'; }));
  }

  MusterCommand muster_{RunShell({"--nproc-per-node=2"}, "sleep 1001 & exec sleep 1001")};
  std::vector<pid_t> ranks_;
};

TEST_F(CtrlZTest, StopsTheRanksAndTheLauncherUntilTheyAreContinued) {
  EXPECT_TRUE(muster_.process().WaitForOutput("got SIGTSTP; ranks 0-1 are stopped until SIGCONT"));
  EXPECT_TRUE(WaitUntil([this] { return AllStopped(muster_.ProcessesRunning("sleep 1000")); }))
      << "the coordinator too";
  muster_.process().Signal(SIGCONT);
  EXPECT_TRUE(WaitUntil([this] { return NoneStopped(ranks_); }));
  EXPECT_TRUE(WaitUntil([this] { return NoneStopped(muster_.ProcessesRunning("sleep 1000")); }));
  EXPECT_TRUE(WaitUntil([this] { return StateOf(muster_.process().pid()) != 'T'; }));
  EXPECT_THAT(SortedLines(WithoutCoordinator(muster_.process().Output())), SizeIs(1))
      << muster_.process().Output();
}

TEST_F(CtrlZTest, CanBeRepeated) {
  muster_.process().Signal(SIGCONT);
  ASSERT_TRUE(WaitUntil([this] { return NoneStopped(ranks_); }));
  muster_.process().Signal(SIGTSTP);
  EXPECT_TRUE(WaitUntil([this] { return AllStopped(ranks_); }));
}

TEST_F(CtrlZTest, AStoppedRunCanBeEnded) {
  // Sends what a shell's "kill %1" sends.
  muster_.process().Signal(SIGTERM);
  muster_.process().Signal(SIGCONT);
  EXPECT_EQ(muster_.process().Wait(), (Exit{false, 128 + SIGTERM}));
  EXPECT_TRUE(muster_.WaitForNone());
}

}  // namespace
}  // namespace muster::cli
