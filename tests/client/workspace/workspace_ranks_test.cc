// A workspace between the processes of a job.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Ranks {
  std::unique_ptr<TestDaemon> daemon;
  std::vector<std::unique_ptr<Process>> processes;
};

// Two ranks on each node.
Ranks Start(int size, const std::string& folder, const std::string& what) {
  Ranks ranks = {TestDaemon::Start({"--member-grace", "300ms"}), {}};
  for (int rank = 0; rank < size; ++rank) {
    ranks.processes.push_back(
        Process::Start({Runfile("tests/client/workspace/workspace_rank"), folder, what},
                       {{"MUSTER_COORDINATOR", ranks.daemon->address()},
                        {"MUSTER_WORLD_SIZE", absl::StrCat(size)},
                        {"MUSTER_RANK", absl::StrCat(rank)},
                        {"MUSTER_NODE_ID", absl::StrCat("node-", rank / 2)}}));
  }
  return ranks;
}

TEST(WorkspaceRanksTest, EveryRankReadsWhatEveryRankWrote) {
  for (const char* what : {"share", "late"}) {
    for (const int size : {1, 2, 4}) {
      SCOPED_TRACE(absl::StrCat(what, ", ", size, " ranks"));
      std::string expected;
      for (int rank = 0; rank < size; ++rank) {
        absl::StrAppend(&expected, "rank ", rank, " has ", rank, ": ", rank, ",", rank, ",", rank,
                        "\n");
      }
      absl::StrAppend(&expected, "rank ", size, " has absent\n");
      const Ranks ranks = Start(size, MakeTempDir() + "/shared/folder", what);
      for (const auto& process : ranks.processes) {
        EXPECT_EQ(process->Wait(), (Exit{false, 0}));
        EXPECT_EQ(process->Output(), expected);
      }
    }
  }
}

TEST(WorkspaceRanksTest, OfAKilledWriterAWholeVersionIsLeft) {
  const Ranks ranks = Start(3, MakeTempDir(), "killed");
  ASSERT_TRUE(ranks.processes[0]->WaitForOutput("writing"));
  ranks.processes[0]->Signal(SIGKILL);
  const std::regex whole("rank 0 has ([0-9]+): \\1,\\1,\\1\n");
  for (const int rank : {1, 2}) {
    EXPECT_EQ(ranks.processes[rank]->Wait(), (Exit{false, 0}));
    const std::string output = ranks.processes[rank]->Output();
    EXPECT_THAT(output, AllOf(HasSubstr("ABORTED"), HasSubstr("rank 0 (node 'node-0'"),
                              HasSubstr("rank 1 has absent")));
    EXPECT_TRUE(std::regex_search(output, whole)) << output;
  }
}

}  // namespace
}  // namespace muster::testing
