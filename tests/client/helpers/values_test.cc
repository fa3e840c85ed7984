// Tests of the values that each rank gets. They run real processes: one in serial mode, and 1, 2
// and 4 in a job, with two on each node. Some tests are about a rank inside a PreventBlock scope.

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/helpers/helper_scenario.h"

namespace muster::testing {
namespace {

using ::testing::Each;

constexpr int kSerial = 0;

// The place of a rank.
struct Place {
  int rank = 0;
  int size = 1;
  bool alone = false;  // in a scope in which one rank stands for all

  int main() const { return alone ? rank : 0; }
  int last() const { return alone ? rank : size - 1; }
  bool is_main() const { return rank == main(); }
  bool is_last() const { return rank == last(); }
  bool is_first_of_node() const { return alone || rank % kPerNode == 0; }
  // Returns the list of `of(rank)` for all ranks.
  std::string List(const std::function<std::string(int rank)>& of) const {
    std::vector<std::string> list;
    for (int r = main(); r <= last(); ++r) list.push_back(of(r));
    return absl::StrCat("[", absl::StrJoin(list, ","), "]");
  }
};

std::string Of(int rank) { return absl::StrCat("of ", rank); }
std::string If(bool condition, const std::string& line) { return condition ? line + "\n" : ""; }
std::string Got(const std::string& value) { return absl::StrCat("got ", value, "\n"); }

using Expected = std::function<std::string(const Place&)>;

class HelpersTest : public ::testing::TestWithParam<int> {
 protected:
  // Expects that every rank writes what is expected of its place.
  static void ExpectOutputs(const std::string& scenario, const Expected& expected) {
    if (GetParam() == kSerial) {
      const auto process = Process::Start(Scenario({scenario}));
      EXPECT_EQ(process->Wait(), kSuccess);
      EXPECT_EQ(process->Output(), expected(Place{}));
      return;
    }
    const Ranks ranks(GetParam(), kPerNode, Scenario({scenario}));
    EXPECT_THAT(ranks.exits(), Each(kSuccess));
    for (int rank = 0; rank < ranks.size(); ++rank) {
      EXPECT_EQ(ranks.output(rank), expected(Place{rank, ranks.size()})) << "rank " << rank;
    }
  }

  // Expects the same, and that in a scope the last rank gets its own value, although no other rank
  // calls.
  static void ExpectOutputsAlsoInAScope(const std::string& scenario, const Expected& expected) {
    ExpectOutputs(scenario, expected);
    if (GetParam() == kSerial) return;
    const Ranks ranks(GetParam(), kPerNode, Scenario({scenario, "in-scope"}));
    EXPECT_THAT(ranks.exits(), Each(kSuccess));
    const int last = ranks.size() - 1;
    EXPECT_EQ(ranks.output(last), expected(Place{last, ranks.size(), /*alone=*/true}));
  }
};

TEST_P(HelpersTest, RunOnMainGivesAllTheValueOfMain) {
  ExpectOutputsAlsoInAScope("run-on-main", [](const Place& place) {
    return If(place.is_main(), "runs") + Got(Of(place.main()));
  });
}

TEST_P(HelpersTest, RunOnMainThenRunsPostOnTheOthers) {
  ExpectOutputsAlsoInAScope("run-on-main-post", [](const Place& place) {
    return If(place.is_main(), "runs") + If(!place.is_main(), "posts") + Got(Of(place.main()));
  });
}

TEST_P(HelpersTest, RunOnMainRunsPostOnMainTooIfAsked) {
  ExpectOutputsAlsoInAScope("run-on-main-post-all", [](const Place& place) {
    return If(place.is_main(), "runs") + "posts\n" + Got(Of(place.main()));
  });
}

TEST_P(HelpersTest, MainOnlyGivesAllTheValueOfMain) {
  ExpectOutputsAlsoInAScope("main-only", [](const Place& place) {
    return If(place.is_main(), "runs") + Got(Of(place.main()));
  });
}

TEST_P(HelpersTest, ComputeAndBroadcastRunsOnTheGivenRank) {
  ExpectOutputsAlsoInAScope("compute-and-broadcast", [](const Place& place) {
    return If(place.is_last(), "runs") + Got(Of(place.last()));
  });
}

std::string OnLast(const Place& place) {
  return If(place.is_last(), "runs") + Got(place.is_last() ? Of(place.rank) : "nothing");
}

TEST_P(HelpersTest, OneRankOnlyGivesTheOthersNothing) {
  ExpectOutputsAlsoInAScope("one-rank-only", OnLast);
}

TEST_P(HelpersTest, OneRankOnlyWithBarrierGivesTheOthersNothing) {
  ExpectOutputsAlsoInAScope("one-rank-only-with-barrier", OnLast);
}

std::string OnFirstOfNode(const Place& place) {
  const bool runs = place.is_first_of_node();
  return If(runs, "runs") + Got(runs ? Of(place.rank) : "nothing");
}

TEST_P(HelpersTest, RunOncePerNodeGivesTheRunnerItsValueAndTheOthersNothing) {
  ExpectOutputsAlsoInAScope("run-once-per-node", OnFirstOfNode);
}

TEST_P(HelpersTest, RunOncePerNodeGivesTheOthersTheValueOfPost) {
  ExpectOutputsAlsoInAScope("run-once-per-node-post", [](const Place& place) {
    return place.is_first_of_node() ? "runs\n" + Got(Of(place.rank))
                                    : "posts\n" + Got("post " + Of(place.rank));
  });
}

TEST_P(HelpersTest, RunOncePerNodeGivesAllTheValueOfPostIfAsked) {
  ExpectOutputsAlsoInAScope("run-once-per-node-post-all", [](const Place& place) {
    return If(place.is_first_of_node(), "runs") + "posts\n" + Got("post " + Of(place.rank));
  });
}

TEST_P(HelpersTest, OncePerNodeGivesTheRunnerItsValueAndTheOthersNothing) {
  ExpectOutputsAlsoInAScope("once-per-node", OnFirstOfNode);
}

TEST_P(HelpersTest, ZeroFirstGivesEachItsOwnValue) {
  ExpectOutputsAlsoInAScope("zero-first",
                            [](const Place& place) { return "runs\n" + Got(Of(place.rank)); });
}

TEST_P(HelpersTest, BroadcastGivesAllTheObjectOfItsSource) {
  ExpectOutputsAlsoInAScope("broadcast", [](const Place& place) {
    return Got(absl::StrCat("[from,", place.last(), "]"));
  });
}

TEST_P(HelpersTest, GatherFromAllRanksGivesOneRankAListInRankOrder) {
  ExpectOutputsAlsoInAScope("gather", [](const Place& place) {
    return "runs\n" + Got(place.is_last() ? place.List(Of) : "[]");
  });
}

std::string Count(int rank) { return absl::StrCat(10 * (rank + 1)); }

TEST_P(HelpersTest, GatherScalarFromAllRanksGivesMainAListInRankOrder) {
  ExpectOutputsAlsoInAScope("gather-scalar", [](const Place& place) {
    return "runs\n" + Got(place.is_main() ? place.List(Count) : "[]");
  });
}

TEST_P(HelpersTest, ReduceAndBroadcastReducesOnMainForAll) {
  ExpectOutputsAlsoInAScope("reduce-and-broadcast", [](const Place& place) {
    int sum = 0;
    for (int rank = place.main(); rank <= place.last(); ++rank) sum += 10 * (rank + 1);
    return "runs\n" + Got(absl::StrCat(sum));
  });
}

TEST_P(HelpersTest, AllGatherGivesAllTheNumbersInRankOrder) {
  ExpectOutputsAlsoInAScope("all-gather-numbers", [](const Place& place) {
    return Got(place.List([](int rank) { return absl::StrCat(rank); }));
  });
}

TEST_P(HelpersTest, AllGatherGivesAllTheTextsOfUnequalLengthInRankOrder) {
  ExpectOutputsAlsoInAScope("all-gather-strings", [](const Place& place) {
    return Got(place.List([](int rank) { return std::string(rank, 'x'); }));
  });
}

TEST_P(HelpersTest, BarrierLetsAllThrough) {
  ExpectOutputsAlsoInAScope("barrier", [](const Place&) { return Got("through"); });
}

TEST_P(HelpersTest, SynchronizeLetsAllThrough) {
  ExpectOutputsAlsoInAScope("synchronize", [](const Place&) { return Got("through"); });
}

std::string OnMain(const Place& place) {
  return If(place.is_main(), "runs") + Got(place.is_main() ? Of(0) : "nothing");
}

TEST_P(HelpersTest, MainScopeIsForMainAlone) { ExpectOutputs("main-scope", OnMain); }

TEST_P(HelpersTest, ZeroOnlyIsForMainAlone) { ExpectOutputs("zero-only", OnMain); }

TEST_P(HelpersTest, OncePerNodeScopeIsForTheFirstOfEachNode) {
  ExpectOutputs("once-per-node-scope", OnFirstOfNode);
}

TEST_P(HelpersTest, ScopesNestAndEndWhereTheBlockThrows) {
  ExpectOutputs("nested-scopes", [](const Place& place) {
    return If(place.is_main(), "main 1") + If(place.is_first_of_node(), "once 1") +
           "out of the block 0\n" + Got("through");
  });
}

TEST_P(HelpersTest, AnAllReduceInAScopeGivesTheCallersOwnNumbers) {
  ExpectOutputs("all-reduce-in-a-scope", [](const Place& place) {
    return Got(
        absl::StrCat(place.rank + 1, " alone, ", place.size * (place.size + 1) / 2, " together"));
  });
}

// The program links only Gloo.
TEST_P(HelpersTest, DeviceIsTheCpuWithGloo) {
  const std::string told = GetParam() == kSerial ? "cpu, backend '', model serial, 0 MiB"
                                                 : "cpu, backend 'gloo', model muster-gloo, 0 MiB";
  ExpectOutputs("device", [&](const Place&) { return Got(told); });
}

TEST_P(HelpersTest, ShowConfigLogsTheRankAndItsNode) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const std::string model =
      GetParam() == kSerial ? "serial, backend none" : "muster-gloo, backend gloo";
  ExpectOutputs("show-config", [&](const Place& place) {
    return Got(absl::StrCat("distributed configuration: ", model, ", device cpu, hostname ", host,
                            ", world size ", place.size, ", rank ", place.rank, ", local rank ",
                            place.rank % kPerNode, ", processes per node ",
                            std::min(place.size, kPerNode), ", number of nodes ",
                            (place.size + 1) / kPerNode, ", node rank ", place.rank / kPerNode));
  });
}

// Ranks are distributed as by Slurm's cyclic distribution.
TEST(CyclicRanksTest, RunOncePerNodeRunsOnTheFirstRankOfEachNode) {
  const auto daemon = TestDaemon::Start({"--world-size=4"});
  std::vector<std::unique_ptr<Process>> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.push_back(Process::Start(Scenario({"run-once-per-node"}),
                                   {{"MUSTER_COORDINATOR", daemon->address()},
                                    {"MUSTER_RANK", absl::StrCat(rank)},
                                    {"MUSTER_NODE_ID", absl::StrCat("node-", rank % 2)}}));
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(ranks[rank]->Wait(), kSuccess);
    EXPECT_EQ(ranks[rank]->Output(), rank < 2 ? "runs\n" + Got(Of(rank)) : Got("nothing"));
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, HelpersTest, ::testing::Values(kSerial, 1, 2, 4),
                         [](const auto& info) {
                           return info.param == kSerial ? std::string("Serial")
                                                        : absl::StrCat("Of", info.param);
                         });

}  // namespace
}  // namespace muster::testing
