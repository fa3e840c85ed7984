// A rank that comes late is named: by the status page while the job runs, and by the coordinator at
// its end.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(StragglerTest, IsNamedWithItsDelayDuringAndAfterTheJob) {
  const auto daemon = TestDaemon::Start({"--world-size=3"});
  const Gate gate;
  auto run =
      LaunchAt(*daemon, 3, {"2:paced=200ms", "0:paced=0s", "1:paced=0s", gate.wait(), "leave"},
               {"--node-id=alpha"});
  ASSERT_TRUE(AwaitStep(*run, {0, 1, 2}, gate.wait())) << run->Output();
  EXPECT_THAT(MusterStatus(*daemon),
              AllOf(HasSubstr("\nlate ranks\n"),
                    ContainsRegex("\n2 +alpha +[0-9]+% +20 +Barrier\\('step #'\\) ")));
  gate.Open();
  EXPECT_EQ(run->Wait(), kSuccess);
  ASSERT_TRUE(daemon->process().WaitForOutput("; they waited "));
  EXPECT_THAT(
      daemon->process().Output(),
      ContainsRegex("rank 2 \\(node 'alpha'.* was last in [0-9]+% of 20 Barrier\\('step #'\\) "
                    "of the world, .* behind the others .*; they waited [0-9.hms]+ for it"));
}

TEST(StragglerTest, RunNamesItAtTheEnd) {
  auto run = Launch(2, {"1:paced=200ms", "0:paced=0s", "leave"});
  EXPECT_EQ(run->Wait(), kSuccess);
  EXPECT_THAT(run->Output(), ContainsRegex("rank 1 \\(host .* was last in [0-9]+% of 20 "));
}

}  // namespace
}  // namespace muster::testing
