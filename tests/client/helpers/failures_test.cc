// Tests of a function that fails on one rank, and of a rank that is killed inside it. The other
// ranks get an error that names it. The ranks are real processes, two on each node.

#include <signal.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/helpers/helper_scenario.h"
#include "tests/util/job/status_reader.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

enum class Runner { kMain, kLast, kFirstOfLastNode };

// A helper: the rank that runs its function, and the ranks that wait for it.
struct HelperCase {
  std::string scenario;
  Runner runner = Runner::kMain;
  bool node_waits = false;  // false: all ranks wait

  int RunnerOf(int size) const {
    if (runner == Runner::kMain) return 0;
    return runner == Runner::kLast ? size - 1 : size - kPerNode;
  }
  bool Waits(int rank, int size) const { return !node_waits || rank >= size - kPerNode; }
};

const HelperCase kHelperCases[] = {
    {"run-on-main"},
    {"run-on-main-post"},
    {"main-only"},
    {"compute-and-broadcast", Runner::kLast},
    {"one-rank-only-with-barrier", Runner::kLast},
    {"run-once-per-node", Runner::kFirstOfLastNode, true},
    {"run-once-per-node-post", Runner::kFirstOfLastNode, true},
    {"run-once-per-node-post-all", Runner::kFirstOfLastNode, true},
    {"zero-first", Runner::kFirstOfLastNode},
    {"gather", Runner::kLast},
    {"gather-scalar", Runner::kLast},
    {"reduce-and-broadcast", Runner::kLast},
};

// Returns the scenario's name in the form for a test's name.
std::string TestName(std::string scenario) {
  for (char& c : scenario) c = c == '-' ? '_' : c;
  return scenario;
}

// Returns "rank 2 (node 'node-1', pid 4711)".
std::string NameOf(const Ranks& ranks, int rank) {
  return absl::StrCat("rank ", rank, " (node 'node-", rank / kPerNode, "', pid ", ranks[rank].pid(),
                      ")");
}

class FailureTest : public ::testing::TestWithParam<std::tuple<HelperCase, int>> {
 protected:
  const HelperCase& helper_case() const { return std::get<0>(GetParam()); }
  int size() const { return std::get<1>(GetParam()); }
  int runner() const { return helper_case().RunnerOf(size()); }
  bool Waits(int rank) const { return helper_case().Waits(rank, size()); }

  Ranks Start(const std::string& fault) const {
    return Ranks(size(), kPerNode,
                 Scenario({helper_case().scenario, fault, absl::StrCat(runner())}));
  }

  // Expects that all waiting ranks get this error and end, and that the other ranks succeed.
  void ExpectError(const Ranks& ranks, const std::string& error) const {
    for (int rank = 0; rank < size(); ++rank) {
      EXPECT_EQ(ranks.exit(rank), Waits(rank) ? kRankError : kSuccess);
      if (!Waits(rank)) continue;
      EXPECT_THAT(ranks.output(rank), EndsWith(absl::StrCat("error: ", error, "\n")));
      EXPECT_THAT(ranks.output(rank), Not(HasSubstr("posts")));
    }
  }
};

TEST_P(FailureTest, AllWaitingRanksGetTheErrorWithItsRank) {
  const Ranks ranks = Start("fails");
  ExpectError(ranks, absl::StrCat("DATA_LOSS: ", NameOf(ranks, runner()), ": torn"));
}

TEST_P(FailureTest, AllWaitingRanksGetAnExceptionAsAnError) {
  const Ranks ranks = Start("throws");
  ExpectError(ranks,
              absl::StrCat("INTERNAL: ", NameOf(ranks, runner()), ": the function threw: torn"));
}

TEST_P(FailureTest, AllWaitingRanksLearnOfAKilledRunner) {
  const Ranks ranks = Start("hangs");
  ASSERT_TRUE(ranks[runner()].WaitForOutput("hangs"));
  // Waits for the other ranks. They are in the helper, or in Leave() if they are on another node.
  ASSERT_TRUE(StatusReader(ranks.daemon().address()).WaitForParked(size() - 1));
  ranks[runner()].Signal(SIGKILL);
  EXPECT_EQ(ranks.exit(runner()), (Exit{true, SIGKILL}));
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == runner()) continue;
    EXPECT_EQ(ranks.exit(rank), Waits(rank) ? kRankError : kSuccess);
    if (!Waits(rank)) continue;
    EXPECT_THAT(ranks.output(rank),
                AllOf(HasSubstr("error: ABORTED: "),
                      HasSubstr(absl::StrCat("rank ", runner(), " (node 'node-")),
                      HasSubstr(absl::StrCat("pid ", ranks[runner()].pid(), ")")),
                      Not(HasSubstr("posts"))));
  }
}

INSTANTIATE_TEST_SUITE_P(Helpers, FailureTest,
                         ::testing::Combine(::testing::ValuesIn(kHelperCases),
                                            ::testing::Values(2, 4)),
                         [](const auto& info) {
                           return absl::StrCat(TestName(std::get<0>(info.param).scenario), "_of_",
                                               std::get<1>(info.param));
                         });

class AloneTest : public ::testing::TestWithParam<HelperCase> {};

TEST_P(AloneTest, TheCallersErrorIsReturnedUnchanged) {
  const auto process = Process::Start(Scenario({GetParam().scenario, "fails", "0"}));
  EXPECT_EQ(process->Wait(), kRankError);
  EXPECT_EQ(process->Output(), "runs\nerror: DATA_LOSS: torn\n");
  const Ranks one(1, 1, Scenario({GetParam().scenario, "fails", "0"}));
  EXPECT_EQ(one.output(0), "runs\nerror: DATA_LOSS: torn\n");
}

INSTANTIATE_TEST_SUITE_P(Helpers, AloneTest, ::testing::ValuesIn(kHelperCases),
                         [](const auto& info) { return TestName(info.param.scenario); });

// ---- Errors of one rank only ----

// Expects that an error on `rank` of 4 reaches no other rank.
void ExpectOwnError(const std::string& scenario, const std::string& fault, int rank) {
  SCOPED_TRACE(scenario);
  const Ranks ranks(4, kPerNode, Scenario({scenario, fault, absl::StrCat(rank)}));
  for (int other = 0; other < ranks.size(); ++other) {
    EXPECT_EQ(ranks.exit(other), other == rank ? kRankError : kSuccess) << ranks.output(other);
  }
  EXPECT_THAT(ranks.output(rank), EndsWith("error: DATA_LOSS: torn\n"));
}

TEST(OwnErrorTest, OfAFunctionNobodyWaitsFor) {
  ExpectOwnError("one-rank-only", "fails", 3);
  ExpectOwnError("once-per-node", "fails", 2);
  ExpectOwnError("main-scope", "fails", 0);
  ExpectOwnError("zero-first", "fails", 3);  // rank 3 runs the function in the second turn
}

TEST(OwnErrorTest, OfPost) {
  ExpectOwnError("run-on-main-post", "post-fails", 1);
  ExpectOwnError("run-once-per-node-post", "post-fails", 3);
  ExpectOwnError("run-once-per-node-post-all", "post-fails", 0);
}

TEST(ReduceAndBroadcastTest, AnErrorOfTheReductionReachesAllWithTheNameOfMain) {
  const Ranks ranks(4, kPerNode, Scenario({"reduce-and-broadcast", "reduce-fails", "0"}));
  EXPECT_THAT(ranks.exits(), Each(kRankError));
  EXPECT_THAT(ranks.outputs(),
              Each(absl::StrCat("runs\nerror: DATA_LOSS: ", NameOf(ranks, 0), ": torn\n")));
}

TEST(OneRankOnlyTest, AMissingRankIsRefused) {
  const Ranks ranks(2, kPerNode, Scenario({"one-rank-only-nowhere"}));
  EXPECT_THAT(ranks.outputs(),
              Each(AllOf(HasSubstr("error: INVALID_ARGUMENT: OneRankOnly on rank "),
                         HasSubstr("there is no rank 2; the job has 2 ranks"))));
}

// ---- Which ranks wait, and for how long ----

TEST(WaitTest, NoRankWaitsForOneRankOnlyAndOncePerNode) {
  for (const char* scenario : {"one-rank-only", "once-per-node", "main-scope"}) {
    SCOPED_TRACE(scenario);
    const int runner = scenario == std::string("one-rank-only") ? 1 : 0;
    const Ranks ranks(2, kPerNode, Scenario({scenario, "hangs", absl::StrCat(runner)}));
    EXPECT_TRUE(ranks[runner].WaitForOutput("hangs"));
    EXPECT_TRUE(ranks[1 - runner].WaitForOutput("got nothing"));
  }
}

TEST(WaitTest, ZeroFirstKeepsTheOthersUntilTheFirstOfEveryNodeHaveRun) {
  const Ranks ranks(4, kPerNode, Scenario({"zero-first", "hangs", "2"}));
  ASSERT_TRUE(ranks[0].WaitForOutput("runs"));
  ASSERT_TRUE(ranks[2].WaitForOutput("hangs"));
  ASSERT_TRUE(StatusReader(ranks.daemon().address()).WaitForParked(3));
  for (const int other : {1, 3}) EXPECT_EQ(ranks[other].Output(), "");
}

// The default time-out is shorter than the function takes.
TEST(WaitTest, HasNoTimeOutWhileTheRunnerLives) {
  const std::vector<std::vector<std::string>> late = {
      {"run-on-main", "late", "0"},       {"compute-and-broadcast", "late", "1"},
      {"zero-first", "late", "0"},        {"one-rank-only-with-barrier", "late", "1"},
      {"run-once-per-node", "late", "0"},
  };
  std::vector<Ranks> jobs;
  for (const auto& arguments : late) {
    jobs.emplace_back(2, kPerNode, Scenario(arguments),
                      std::map<std::string, std::string>{{"MUSTER_TIMEOUT", "10s"}});
  }
  for (const Ranks& job : jobs) EXPECT_THAT(job.exits(), Each(kSuccess)) << job.output(1);
}

}  // namespace
}  // namespace muster::testing
