// Tests of what a process knows of itself before, in and after a job. They run real processes: one
// in serial mode, and 1, 2 and 4 in a job, with two on each node.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kPerNode = 2;

Args Identity(const std::string& how) { return RankCommand({"identity", how}); }

std::string Here() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// Returns what a process prints outside of a job: the environment's ranks, if there are any, in a
// world of one.
std::string Outside(const std::string& rank, const std::string& local_rank) {
  const std::string prefix = rank == "?" ? "" : absl::StrCat("[rank: ", rank, "] ");
  return absl::StrCat(prefix, "rank ", rank, "/1, local ", local_rank, "/1, node 0/1 at ", Here(),
                      ", main, local zero\n");
}

std::string Inside(int rank, int size) {
  return absl::StrCat("[rank: ", rank, "] rank ", rank, "/", size, ", local ", rank % kPerNode, "/",
                      std::min(size, kPerNode), ", node ", rank / kPerNode, "/",
                      (size + 1) / kPerNode, " at ", Here(), rank == 0 ? ", main" : "",
                      rank % kPerNode == 0 ? ", local zero" : "", ", distributed\n");
}

class IdentityTest : public ::testing::TestWithParam<int> {
 protected:
  static void ExpectKnownInsideAndOutside(const std::string& how) {
    const Ranks ranks(GetParam(), kPerNode, Identity(how));
    EXPECT_THAT(ranks.exits(), Each(kSuccess));
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const std::string outside = Outside(absl::StrCat(rank), "?");
      EXPECT_EQ(ranks.output(rank), absl::StrCat(outside, Inside(rank, ranks.size()), outside));
    }
  }
};

TEST_P(IdentityTest, InitializeJoinsFromTheEnvironmentAndFinalizeLeaves) {
  ExpectKnownInsideAndOutside("initialize");
}

TEST_P(IdentityTest, InitializeTakesOptions) { ExpectKnownInsideAndOutside("options"); }

TEST_P(IdentityTest, SyncAdoptsAJobThatWasJoinedAndLeftByOtherMeans) {
  ExpectKnownInsideAndOutside("sync");
}

INSTANTIATE_TEST_SUITE_P(Ranks, IdentityTest, ::testing::Values(1, 2, 4));

TEST(SerialIdentityTest, AWorldOfOneWhoseRankIsKnownOnceItIsInitialized) {
  for (const char* how : {"initialize", "options", "sync"}) {
    const auto process = Process::Start(Identity(how));
    EXPECT_EQ(process->Wait(), kSuccess);
    EXPECT_EQ(process->Output(), Outside("?", "?") + Outside("0", "0") + Outside("?", "?"));
  }
}

TEST(SerialIdentityTest, TheEnvironmentComesBeforeTheHint) {
  const auto hinted = Process::Start(Identity("hint"));
  EXPECT_EQ(hinted->Wait(), kSuccess);
  EXPECT_EQ(hinted->Output(), Outside("?", "?") + Outside("?", "3"));
  const auto told = Process::Start(Identity("hint"), {{"RANK", "5"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(told->Wait(), kSuccess);
  EXPECT_EQ(told->Output(), Outside("5", "1") + Outside("5", "1"));
}

TEST(HintedIdentityTest, TheHintCountsWithoutALocalRankOfTheLauncher) {
  const auto daemon = TestDaemon::Start({"--world-size=2"});
  std::vector<std::unique_ptr<Process>> hinted;
  for (const int hint : {1, 0}) {
    hinted.push_back(Process::Start(Identity(absl::StrCat("hinted=", hint)),
                                    {{"MUSTER_COORDINATOR", daemon->address()}}));
  }
  for (const auto& process : hinted) EXPECT_EQ(process->Wait(), kSuccess);
  EXPECT_THAT(hinted[0]->Output(), HasSubstr(Inside(1, 2)));
  EXPECT_THAT(hinted[1]->Output(), HasSubstr(Inside(0, 2)));
}

}  // namespace
}  // namespace muster::testing
