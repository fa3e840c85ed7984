// Tests of the current job of a process, whose owner may destroy it.

#include "gtest/gtest.h"
#include "muster/toolkits.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using toolkits::AdoptLatestJob;
using toolkits::CurrentJob;
using toolkits::Finalize;
using toolkits::GetRank;
using toolkits::Initialize;
using toolkits::IsDistributed;
using toolkits::RankPrefixedMessage;

TEST(CurrentJobTest, AnAdoptedJobIsCurrentUntilItsOwnerDestroysIt) {
  Jobs jobs(1);
  AdoptLatestJob();
  EXPECT_EQ(&CurrentJob(), &jobs[0]);
  EXPECT_EQ(RankPrefixedMessage("hello"), "[rank: 0] hello");
  EXPECT_TRUE(absl::IsFailedPrecondition(Initialize(JobOptions())));
  jobs.Destroy(0);
  EXPECT_FALSE(IsDistributed(CurrentJob()));
  EXPECT_EQ(RankPrefixedMessage("hello"), "hello");
  ASSERT_TRUE(Initialize(JobOptions()).ok());
  EXPECT_EQ(GetRank(), 0);
  EXPECT_TRUE(Finalize().ok());
}

}  // namespace
}  // namespace muster::testing
