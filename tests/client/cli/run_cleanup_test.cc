// Tests that `muster run` ends in time all processes that ranks leave behind, and no others.

#include <signal.h>

#include <cstdlib>
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
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Exit kSuccess = {false, 0};

// Shell code that waits until the last background process has executed its program and is no shell
// any more.
constexpr char kUntilItSleeps[] = "until [ $(cat /proc/$!/comm) = sleep ]; do sleep 0.01; done; ";

// ---- Restarts ----

TEST(RestartCleanupTest, ADeadRanksChildrenEndBeforeTheRestart) {
  const std::string directory = MakeTempDir();
  // The children end slowly: the restarted rank must find their last output.
  const std::string child =
      absl::StrCat("trap \"sleep 0.2; : >", directory, "/ended-$1; exit\" TERM; : >", directory,
                   "/up-$1; while :; do sleep 0.01; done");
  std::ofstream(directory + "/child") << child;
  MusterCommand muster(RunShell(
      {"--max-restarts=1", "--restart=rank"},
      absl::StrCat("cd ", directory,
                   "; if [ $MUSTER_RESTART_COUNT = 0 ]; then sh child group & "
                   "setsid sh child session & (setsid sh child orphan &) ; "
                   "until [ -e up-group ] && [ -e up-session ] && [ -e up-orphan ]; do sleep 0.01; "
                   "done; exit 7; fi; ls ended-*")));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  for (const char* child_name : {"group", "session", "orphan"}) {
    EXPECT_THAT(muster.process().Output(), HasSubstr(absl::StrCat("[0] ended-", child_name, "\n")));
  }
}

TEST(RestartCleanupTest, ChildrenThatDefySigtermAreKilled) {
  MusterCommand muster(
      RunShell({"--max-restarts=1", "--restart=rank", "--grace=10ms"},
               absl::StrCat("if [ $MUSTER_RESTART_COUNT = 0 ]; then trap '' TERM; sleep 1001 & ",
                            kUntilItSleeps, "exit 7; fi; echo again")));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("[0] again\n"));
  EXPECT_THAT(muster.process().Output(), HasSubstr("muster: sleep (pid "));
  EXPECT_THAT(muster.process().Output(), HasSubstr("; sending SIGKILL"));
}

TEST(RestartCleanupTest, TheChildrenOfOtherRanksLiveOn) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(RunShell(
      {"--nproc-per-node=2", "--max-restarts=1", "--restart=rank"},
      absl::StrCat(
          "cd ", directory,
          "; if [ $RANK = 1 ]; then setsid sleep 1001 & : >up; until [ -e end ]; do sleep "
          "0.01; done; exit 0; fi; until [ -e up ]; do sleep 0.01; done; "
          "[ $MUSTER_RESTART_COUNT = 1 ] || exit 7; echo again; until [ -e end ]; do sleep "
          "0.01; done")));
  ASSERT_TRUE(muster.process().WaitForOutput("[0] again"));
  EXPECT_TRUE(muster.WaitForProcesses("sleep 1001", 1));
  std::ofstream(directory + "/end").close();
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(RestartCleanupTest, ALostRanksChildrenEndIfTheJobContinues) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(RunShell(
      {"--nproc-per-node=2", "--min-world-size=1"},
      absl::StrCat("cd ", directory,
                   "; if [ $RANK = 1 ]; then setsid sh -c 'trap \"echo told; exit\" TERM; : >up; "
                   "while :; do sleep 0.01; done' & until [ -e up ]; do sleep 0.01; done; exit 7; "
                   "fi; until [ -e end ]; do sleep 0.01; done")));
  ASSERT_TRUE(muster.process().WaitForOutput("the job goes on with 1 of 2 ranks"));
  EXPECT_TRUE(muster.process().WaitForOutput("[1] told"));
  std::ofstream(directory + "/end").close();
  EXPECT_EQ(muster.process().Wait(), kSuccess);
}

// ---- The end of a run ----

TEST(EndCleanupTest, BackgroundProcessesMayFinish) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(RunShell(
      {}, absl::StrCat("cd ", directory,
                       "; setsid sh -c 'trap \"echo uploaded; exit\" TERM; : >up; while :; do "
                       "sleep 0.01; done' & until [ -e up ]; do sleep 0.01; done")));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("[0] uploaded\n"));
}

TEST(EndCleanupTest, ProcessesThatDoNotFinishAreNamedAndKilled) {
  MusterCommand muster(
      RunShell({"--grace=10ms"}, absl::StrCat("trap '' TERM; sleep 1001 & ", kUntilItSleeps)));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("muster: sleep (pid "));
  EXPECT_THAT(muster.Processes(), IsEmpty());
}

TEST(EndCleanupTest, ASignalCutsTheGraceShort) {
  MusterCommand muster(RunShell({"--grace=1h"}, "trap '' TERM; sleep 1001 & echo ended"));
  ASSERT_TRUE(muster.process().WaitForOutput("ended"));
  ASSERT_TRUE(muster.WaitForProcesses("sh -c trap '' TERM; sleep 1001 & echo ended", 0));
  // A signal that arrives before the launcher knows of the rank's end is passed on to the rank.
  ASSERT_TRUE(WaitUntil([&] {
    muster.process().Signal(SIGINT);
    return !muster.process().Running();
  }));
  EXPECT_TRUE(muster.WaitForNone());
}

// ---- Processes older than the run ----

// "helper & exec muster run ...": the launcher inherits the helper as a child that it did not
// start.
class EarlierChildTest : public ::testing::Test {
 protected:
  static std::unique_ptr<MusterCommand> Start(const std::string& helper, const std::string& rank) {
    return MusterCommand::Wrapped(
        {"sh", "-c", absl::StrCat(helper, " & exec \"$MUSTER\" run -- sh -c '", rank, "'")});
  }
};

TEST_F(EarlierChildTest, LivesOnWhenTheRunEnds) {
  const auto muster = Start("sleep 1005", "true");
  EXPECT_EQ(muster->process().Wait(), kSuccess);
  EXPECT_TRUE(muster->WaitForProcesses("sleep 1005", 1));
}

TEST_F(EarlierChildTest, LivesOnWhenTheSupervisorIsKilled) {
  const auto muster = Start("(sleep 1006 &) ; sleep 1005", "setsid sleep 1001 & exec sleep 1002");
  ASSERT_TRUE(muster->WaitForProcesses("sleep 1001", 1));
  ASSERT_TRUE(muster->WaitForProcesses("sleep 1002", 1));
  ASSERT_TRUE(muster->WaitForProcesses("sleep 1005", 1));
  ASSERT_TRUE(muster->WaitForProcesses("sleep 1006", 1));
  kill(muster->ProcessesRunning("rank-supervisor").at(0), SIGKILL);
  EXPECT_EQ(muster->process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_TRUE(muster->WaitForProcesses("sleep 1001", 0));
  EXPECT_TRUE(muster->WaitForProcesses("sleep 1002", 0));
  EXPECT_THAT(muster->ProcessesRunning("sleep 1005"), Not(IsEmpty()));
  EXPECT_THAT(muster->ProcessesRunning("sleep 1006"), Not(IsEmpty()));
}

TEST_F(EarlierChildTest, IsReapedWhenItEnds) {
  // Only the launcher can end it: orphans of a container become children of its first process.
  const std::string file = MakeTempDir() + "/pid";
  const auto muster = Start(absl::StrCat("sh -c \"echo \\$\\$ >", file, "; exec sleep 1005\""),
                            "echo ready; exec sleep 1001");
  ASSERT_TRUE(muster->process().WaitForOutput("ready"));
  ASSERT_TRUE(muster->WaitForProcesses("sleep 1005", 1));
  const pid_t helper = std::stoi(ReadFile(file));
  kill(helper, SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return kill(helper, 0) != 0; })) << "a zombie";
  EXPECT_TRUE(muster->process().Running());
}

}  // namespace
}  // namespace muster::cli
