// Tests of a workspace that the processes of a job share.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Starts ranks, two on each node.
Ranks Start(int size, const Args& steps) {
  Args all = {"quiet"};
  all.insert(all.end(), steps.begin(), steps.end());
  return Ranks(size, 2, RankCommand(all));
}

TEST(WorkspaceRanksTest, EveryRankReadsWhatEveryRankWrote) {
  for (const char* what : {"share", "share-late"}) {
    for (const int size : {1, 2, 4}) {
      SCOPED_TRACE(absl::StrCat(what, ", ", size, " ranks"));
      std::string expected;
      for (int rank = 0; rank < size; ++rank) {
        absl::StrAppend(&expected, "rank ", rank, " has ", rank, ": ", rank, ",", rank, ",", rank,
                        "\n");
      }
      absl::StrAppend(&expected, "rank ", size, " has absent\n");
      const Ranks ranks =
          Start(size, {absl::StrCat(what, "=", MakeTempDir(), "/shared/folder"), "leave"});
      EXPECT_THAT(ranks.exits(), Each(kSuccess));
      EXPECT_THAT(ranks.outputs(), Each(expected));
    }
  }
}

TEST(WorkspaceRanksTest, AKilledWriterLeavesAWholeVersion) {
  const Ranks ranks = Start(3, {"read-of-the-killed=" + MakeTempDir()});
  ASSERT_TRUE(ranks[0].WaitForOutput("writing"));
  ranks[0].Signal(SIGKILL);
  const std::regex whole("rank 0 has ([0-9]+): \\1,\\1,\\1\n");
  for (const int rank : {1, 2}) {
    EXPECT_EQ(ranks.exit(rank), kSuccess);
    const std::string output = ranks.output(rank);
    EXPECT_THAT(output, AllOf(HasSubstr("ABORTED"), HasSubstr("rank 0 (node 'node-0'"),
                              HasSubstr("rank 1 has absent")));
    EXPECT_TRUE(std::regex_search(output, whole)) << output;
  }
}

}  // namespace
}  // namespace muster::testing
