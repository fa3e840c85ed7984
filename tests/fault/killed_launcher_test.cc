// `muster run` is killed, or the coordinator that it has started.

#include <signal.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::SizeIs;

// Starts `muster run` with three ranks that make `steps`.
std::unique_ptr<cli::MusterCommand> LaunchThree(const Args& steps) {
  Args arguments = {"run", "--nproc-per-node=3", "--"};
  for (const std::string& word : RankCommand(steps)) arguments.push_back(word);
  return std::make_unique<cli::MusterCommand>(arguments,
                                              Variables{{"MUSTER_MUSTERD", MusterdPath()}});
}

TEST(KilledLauncherTest, EndsItsRanksAndCoordinator) {
  const auto run = LaunchThree({"barrier", "wait=/nowhere"});
  ASSERT_TRUE(AwaitStep(run->process(), {0, 1, 2}, "wait"));
  EXPECT_THAT(run->ProcessesWith("--listen=127.0.0.1:"), SizeIs(1)) << "no coordinator";
  run->process().Signal(SIGKILL);
  run->process().Wait();
  EXPECT_TRUE(run->WaitForNone());
}

TEST(KilledCoordinatorTest, IsRestartedByTheLauncher) {
  const Gate gate;
  const auto run = LaunchThree({"2:" + gate.wait(), "allgather", "barrier", "leave"});
  Process& launcher = run->process();
  ASSERT_TRUE(AwaitStep(launcher, {0, 1}, "allgather"));
  ASSERT_TRUE(AwaitStep(launcher, {2}, "wait"));
  for (int kills = 1; kills <= 3; ++kills) {
    const std::vector<pid_t> coordinator = run->ProcessesWith("--listen=127.0.0.1:");
    ASSERT_THAT(coordinator, SizeIs(1));
    kill(coordinator[0], SIGKILL);
    ASSERT_TRUE(AwaitCount(launcher, "; restarted as pid", kills)) << launcher.Output();
  }
  gate.Open();
  EXPECT_EQ(launcher.Wait(), kSuccess) << launcher.Output();
}

}  // namespace
}  // namespace muster::testing
