// A rank whose environment differs from the others' is named when the job forms.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(MismatchedRankTest, IsNamedWithBothValues) {
  const Gate gate;
  const Ranks job(3, 1, RankCommand({gate.wait(), "leave"}), {{"NCCL_ALGO", "Ring"}},
                  {{1, {{"NCCL_ALGO", "Tree"}}}});
  for (int rank = 0; rank < job.size(); ++rank) {
    ASSERT_TRUE(AwaitCount(job[rank], " begins " + gate.wait(), 1)) << job.output(rank);
  }
  const std::string mismatch =
      "rank 1 (node 'node-1') has NCCL_ALGO=Tree, the other 2 have NCCL_ALGO=Ring";
  EXPECT_THAT(MusterStatus(job.daemon()), HasSubstr(mismatch));
  gate.Open();
  for (const Exit& exit : job.exits()) EXPECT_EQ(exit, kSuccess);
  EXPECT_TRUE(job.daemon().process().WaitForOutput(mismatch));
  EXPECT_THAT(job.daemon().process().Output(), Not(HasSubstr("program")));
}

TEST(MismatchedRankTest, SecretsAreNotCompared) {
  const Gate gate;
  const Ranks job(3, 1, RankCommand({gate.wait(), "leave"}), {},
                  {{1,
                    {{"NCCL_ALGO", "Tree"},
                     {"NCCL_MY_TOKEN", "hidden-1"},
                     {"NCCL_PROXY", "http://me:hidden-2@proxy:80"}}}});
  for (int rank = 0; rank < job.size(); ++rank) {
    ASSERT_TRUE(AwaitCount(job[rank], " begins " + gate.wait(), 1)) << job.output(rank);
  }
  const std::string status = MusterStatus(job.daemon());
  EXPECT_THAT(status, HasSubstr("rank 1 (node 'node-1') has NCCL_ALGO=Tree"));
  EXPECT_THAT(status, Not(HasSubstr("hidden")));
  gate.Open();
  for (const Exit& exit : job.exits()) EXPECT_EQ(exit, kSuccess);
}

}  // namespace
}  // namespace muster::testing
