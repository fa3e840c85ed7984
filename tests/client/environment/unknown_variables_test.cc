// Tests of misspelt variables with real processes: the first reader of the environment warns, once.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kWarning[] =
    "the variable MUSTER_COORDINATR means nothing to Muster; did you mean MUSTER_COORDINATOR?";

const Variables kMisspelt = {{"MUSTER_COORDINATR", "head:7370"}};

TEST(UnknownVariableTest, ASerialProcessWarns) {
  const auto rank = Process::Start(RankCommand({"place", "leave"}), kMisspelt);
  EXPECT_EQ(rank->Wait(), kSuccess) << rank->Output();
  EXPECT_THAT(rank->Output(), HasSubstr("rank 0 of 1"));
  EXPECT_EQ(CountOf(rank->Output(), kWarning), 1) << rank->Output();
}

TEST(UnknownVariableTest, TheLauncherWarnsForItsRanksAndItsCoordinator) {
  const auto run = Launch(2, {"barrier", "leave"}, {}, kMisspelt);
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  EXPECT_EQ(CountOf(run->Output(), kWarning), 1) << run->Output();
}

TEST(UnknownVariableTest, MusterdWarnsInItsLog) {
  const auto musterd =
      Process::Start({MusterdPath(), "--listen=127.0.0.1:0"}, {{"MUSTER_MEMBERGRACE", "1m"}});
  EXPECT_TRUE(musterd->WaitForOutput("did you mean MUSTER_MEMBER_GRACE?"));
}

}  // namespace
}  // namespace muster::testing
