// Tests that `muster run` restarts failed ranks, or continues the job without them.

#include <signal.h>

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
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr Exit kSuccess = {false, 0};

TEST(RunRestartTest, TheNewProcessHasTheRanksPlaceAndItsOwnIdentity) {
  const std::string file = MakeTempDir() + "/second";
  MusterCommand muster(RunShell(
      {"--nproc-per-node=2", "--max-restarts=1", "--restart=rank", "--job=j", "--node-id=n"},
      absl::StrCat("echo r$RANK l$LOCAL_RANK c$MUSTER_RESTART_COUNT i$MUSTER_PROCESS_SECRET; "
                   "case $RANK$MUSTER_RESTART_COUNT in 10) exit 7;; 11) : >",
                   file, ";; esac; until [ -e ", file, " ]; do sleep 0.01; done")));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  const std::string output = muster.process().Output();
  EXPECT_THAT(output, ContainsRegex("muster: rank 1 \\(pid [0-9]+, node n\\) exited with status 7; "
                                    "restarted as pid [0-9]+ \\(restart 1 of at most 1\\)\n"));
  EXPECT_THAT(output, ContainsRegex("\\[1\\] r1 l1 c0 i[0-9a-f]{32}\n"));
  EXPECT_THAT(output, ContainsRegex("\\[1\\] r1 l1 c1 i[0-9a-f]{32}\n"));
  EXPECT_THAT(output, ContainsRegex("muster: job j succeeded although rank 1 \\(pid [0-9]+, node "
                                    "n\\) exited with status 7\n$"));
}

TEST(RunRestartTest, AfterTheLastRestartAFailureEndsTheRun) {
  MusterCommand muster(
      RunShell({"--nproc-per-node=2", "--max-restarts=2", "--restart=rank", "--failure-wait=0s"},
               "[ $RANK != 1 ] || kill -9 $$; exec sleep 1001"));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  const std::string output = muster.process().Output();
  EXPECT_THAT(output, HasSubstr("(restart 2 of at most 2)"));
  EXPECT_THAT(output, HasSubstr("was killed by signal 9 (SIGKILL); ending rank 0"));
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(RunRestartTest, TheJobContinuesWithoutALostRankIfEnoughAreLeft) {
  const std::string file = MakeTempDir() + "/go-on";
  MusterCommand muster(RunShell({"--nproc-per-node=3", "--min-world-size=2", "--job=j"},
                                absl::StrCat("[ $RANK != 1 ] || exit 7; until [ -e ", file,
                                             " ]; do sleep 0.01; done; echo done")));
  ASSERT_TRUE(muster.process().WaitForOutput("exited with status 7; the job goes on with 2 of 3"));
  EXPECT_THAT(muster.process().Output(), Not(HasSubstr("done")));
  std::ofstream(file).close();
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("muster: job j succeeded although rank 1"));
}

TEST(RunRestartTest, FewerThanTheMinimumEndTheRun) {
  MusterCommand muster(RunShell({"--nproc-per-node=3", "--min-world-size=2", "--failure-wait=0s"},
                                "case $RANK in 1) exit 7;; 2) exit 8;; esac; exec sleep 1001"));
  EXPECT_THAT(muster.process().Wait(), ::testing::AnyOf(Exit{false, 7}, Exit{false, 8}));
  EXPECT_THAT(muster.process().Output(), HasSubstr("; ending rank 0: SIGTERM in 0"));
  EXPECT_TRUE(muster.WaitForNone());
}

TEST(RunRestartTest, TheCoordinatorGetsTheElasticBounds) {
  const std::string directory = MakeTempDir();
  MusterCommand muster(
      {"run", "--nproc-per-node=3", "--min-world-size=2", "--max-world-size=5", "--settle=1s", "--",
       "sh", "-c", "echo s=$MUSTER_WORLD_SIZE r=$MUSTER_RANK"},
      {{"FAKE_MUSTERD_DIR", directory}});
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  const std::string arguments = ReadFile(directory + "/arguments");
  EXPECT_THAT(arguments, HasSubstr("--min-world-size=2\n"));
  EXPECT_THAT(arguments, HasSubstr("--max-world-size=5\n"));
  EXPECT_THAT(arguments, HasSubstr("--settle=1s\n"));
  // Both values may change between epochs, so the environment fixes neither.
  EXPECT_THAT(SortedLines(WithoutCoordinator(muster.process().Output())),
              UnorderedElementsAre("[0] s= r=", "[1] s= r=", "[2] s= r="));
}

}  // namespace
}  // namespace muster::cli
