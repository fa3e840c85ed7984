// Tests that `muster run` leaves no process behind, however it ends.

#include <signal.h>

#include <cstdlib>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Two ranks that ignore every signal that can be ignored. Each has three children: one in its own
// process group, one in its own session, and one whose parents have exited.
class RunOrphansTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(muster_.WaitForProcesses("sleep 1001", 2));
    ASSERT_TRUE(muster_.WaitForProcesses("sleep 1002", 2));
    ASSERT_TRUE(muster_.WaitForProcesses("sleep 1003", 2));
    ASSERT_TRUE(muster_.WaitForProcesses("sleep 1000", 1)) << "the stand-in for musterd";
  }

  pid_t Supervisor() const {
    const std::vector<pid_t> found = muster_.ProcessesRunning("rank-supervisor");
    EXPECT_THAT(found, SizeIs(1));
    return found.empty() ? 0 : found[0];
  }

  MusterCommand muster_{RunShell({"--nproc-per-node=2"},
                                 "trap '' INT TERM HUP QUIT; sleep 1001 & setsid sleep 1002 & "
                                 "(setsid sh -c '(sleep 1003 &)' &) ; wait")};
};

TEST_F(RunOrphansTest, LauncherKilled) {
  muster_.process().Signal(SIGKILL);
  EXPECT_EQ(muster_.process().Wait(), (Exit{true, SIGKILL}));
  EXPECT_TRUE(muster_.WaitForNone());
}

TEST_F(RunOrphansTest, LaunchersProcessGroupKilled) {
  ASSERT_EQ(kill(-muster_.process().pid(), SIGKILL), 0);
  muster_.process().Wait();
  EXPECT_TRUE(muster_.WaitForNone());
}

TEST_F(RunOrphansTest, SupervisorKilled) {
  const pid_t supervisor = Supervisor();
  ASSERT_GT(supervisor, 0);
  kill(supervisor, SIGKILL);
  EXPECT_EQ(muster_.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(muster_.process().Output(),
              HasSubstr("was killed by signal 9 (SIGKILL); the ranks were killed"));
  EXPECT_TRUE(muster_.WaitForNone());
}

TEST_F(RunOrphansTest, AllMatchesOfPkillMusterKilled) {
  // pkill looks for the pattern anywhere in the name, as /proc/PID/comm shows it.
  for (pid_t pid : muster_.Processes()) {
    const std::string name = ReadFile("/proc/" + std::to_string(pid) + "/comm");
    if (name.find("muster") != std::string::npos) kill(pid, SIGKILL);
  }
  EXPECT_EQ(muster_.process().Wait(), (Exit{true, SIGKILL}));
  EXPECT_TRUE(muster_.WaitForNone());
}

TEST_F(RunOrphansTest, LauncherStoppedAndKilled) {
  muster_.process().Signal(SIGSTOP);
  muster_.process().Signal(SIGKILL);
  muster_.process().Wait();
  EXPECT_TRUE(muster_.WaitForNone());
}

TEST_F(RunOrphansTest, SupervisorStoppedAndLauncherKilled) {
  kill(Supervisor(), SIGSTOP);
  muster_.process().Signal(SIGKILL);
  muster_.process().Wait();
  EXPECT_TRUE(muster_.WaitForNone());
}

// The launcher as the first process of a container. Orphans become its children, and the kernel
// drops signals that it does not handle.
TEST(RunAsFirstProcessTest, PassesSignalsOnAndLeavesNothingBehind) {
  if (system("unshare --pid --fork --mount-proc true 2>/dev/null") != 0) {
    GTEST_SKIP() << "this machine allows no PID namespace";
  }
  const std::string script =
      "exec \"$MUSTER\" run --nproc-per-node=2 -- sh -c '(setsid sh -c \"(sleep 1003 &)\" &); "
      "trap \"echo told to end; exit 3\" TERM; sleep 1001 & echo up; wait'";
  const auto container =
      MusterCommand::Wrapped({"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script});
  ASSERT_TRUE(container->process().WaitForOutput("[0] up"));
  ASSERT_TRUE(container->process().WaitForOutput("[1] up"));
  ASSERT_TRUE(container->WaitForProcesses("sleep 1003", 2));
  for (pid_t pid : container->ProcessesWith("nproc-per-node=2")) {
    if (pid != container->process().pid()) kill(pid, SIGTERM);  // skips unshare
  }
  EXPECT_EQ(container->process().Wait(), (Exit{false, 3}));
  EXPECT_THAT(container->process().Output(), HasSubstr("[1] told to end"));
  EXPECT_TRUE(container->WaitForNone());
}

TEST(StatusAsFirstProcessTest, EndsOnCtrlC) {
  if (system("unshare --pid --fork --mount-proc true 2>/dev/null") != 0) {
    GTEST_SKIP() << "this machine allows no PID namespace";
  }
  const auto container =
      MusterCommand::Wrapped({"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                              "exec \"$MUSTER\" status --watch=100ms --coordinator=127.0.0.1:9"});
  ASSERT_TRUE(container->process().WaitForOutput("trying again"));
  for (pid_t pid : container->ProcessesWith("--watch=100ms")) {
    if (pid != container->process().pid()) kill(pid, SIGINT);  // skips unshare
  }
  EXPECT_EQ(container->process().Wait(), (Exit{false, 128 + SIGINT}));
  EXPECT_TRUE(container->WaitForNone());
}

TEST_F(RunOrphansTest, TwoSignals) {
  muster_.process().Signal(SIGINT);
  muster_.process().Signal(SIGTERM);
  EXPECT_EQ(muster_.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_TRUE(muster_.WaitForNone());
}

TEST(RunOrphansDuringStartTest, LauncherKilledWhileTheCoordinatorStarts) {
  const std::string directory = MakeTempDir();
  const auto muster = MusterCommand::Wrapped(
      {"sh", "-c", "TMPDIR=$0 exec \"$MUSTER\" run -- sleep 1001", directory},
      {{"FAKE_MUSTERD", "never-listens"}});
  ASSERT_TRUE(muster->WaitForProcesses("sleep 1000", 1));
  EXPECT_FALSE(std::filesystem::is_empty(directory));
  muster->process().Signal(SIGKILL);
  muster->process().Wait();
  EXPECT_TRUE(muster->WaitForNone());
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

}  // namespace
}  // namespace muster::cli
