// Tests of pmix::Engine: what ranks are answered, fences, waits, and what it makes of broken ranks.
#include "client/launcher/pmix/engine.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher::pmix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

constexpr ProcessEnd kClean = {false, 0};
constexpr ProcessEnd kKilled = {true, 9};
const absl::Time kStart = absl::UnixEpoch();

// The ranks of one node. A ticket is a number.
class Ranks {
 public:
  // The first node of several, or the only one.
  explicit Ranks(int size, std::vector<int> ranks_of_nodes = {}, int first_rank = 0)
      : engine_({first_rank, size, "n0", "world", std::move(ranks_of_nodes)}) {}

  // Returns the answers, in words.
  std::vector<std::string> Send(Request request, absl::Time now = kStart) {
    if (request.world.empty()) request.world = "world";
    if (request.call != kMusterPmixWaiting) request.ticket = &tickets_[next_ticket_++];
    return Describe(engine_.Receive(request, now));
  }
  std::vector<std::string> Send(MusterPmixCall call, int rank, absl::Time now = kStart) {
    Request request;
    request.call = call;
    request.rank = rank;
    return Send(request, now);
  }
  std::vector<std::string> Fence(const std::string& data, std::vector<int> ranks = {}) {
    Request request;
    request.call = kMusterPmixFence;
    request.data = data;
    request.ranks = std::move(ranks);
    return Send(request);
  }
  std::vector<std::string> Waiting(std::vector<int> ranks, absl::Time now) {
    Request request;
    request.call = kMusterPmixWaiting;
    request.ranks = std::move(ranks);
    return Send(request, now);
  }
  void InitAll(int size) {
    for (int i = 0; i < size; ++i) Send(kMusterPmixInit, i);
  }
  std::vector<std::string> Warn(absl::Time now) { return Describe(engine_.Warn(now)); }
  std::vector<std::string> Close() { return Describe(engine_.Close()); }
  std::vector<std::string> Exchanged(const std::string& exchange,
                                     const std::vector<std::string>& parts) {
    return Describe(engine_.Exchanged(exchange, parts));
  }
  std::vector<std::string> Answered(int rank, const std::optional<std::string>& data) {
    return Describe(engine_.Answered(rank, data));
  }
  std::vector<std::string> Fail(const std::string& why) { return Describe(engine_.Fail(why)); }
  std::vector<std::string> Warn(absl::Time now, const std::string& elsewhere) {
    return Describe(engine_.Warn(now, elsewhere));
  }
  Engine& engine() { return engine_; }

 private:
  static std::string Describe(const MpiEffect& effect) {
    if (const auto* announce = std::get_if<Announce>(&effect)) return announce->text;
    if (const auto* blame = std::get_if<Blame>(&effect)) return "blame: " + blame->fault.text;
    return "expel " + std::to_string(std::get<Expel>(effect).local_rank);
  }
  static std::vector<std::string> Describe(const Effects& effects) {
    std::vector<std::string> words;
    for (const Effect& effect : effects) {
      if (const auto* answer = std::get_if<Answer>(&effect)) {
        words.push_back((answer->accepted ? "yes " : "no ") + answer->data);
      } else if (std::holds_alternative<Look>(effect)) {
        words.push_back("look");
      } else if (const auto* begin = std::get_if<BeginExchange>(&effect)) {
        words.push_back(begin->exchange + " of " + absl::StrJoin(begin->nodes, ",") + ": " +
                        begin->data);
      } else if (const auto* ask = std::get_if<AskForData>(&effect)) {
        words.push_back("ask " + std::to_string(ask->rank));
      } else if (const auto* tell = std::get_if<TellData>(&effect)) {
        words.push_back("tell " + std::to_string(tell->rank) + " " + tell->data.value_or("(none)"));
      } else {
        words.push_back(Describe(std::get<MpiEffect>(effect)));
      }
    }
    return words;
  }

  Engine engine_;
  char tickets_[64] = {};
  int next_ticket_ = 0;
};

TEST(PmixEngineTest, ARankIsInMpiFromInitToFinalize) {
  Ranks ranks(1);
  EXPECT_FALSE(ranks.engine().HasJoined(0));
  EXPECT_THAT(ranks.Send(kMusterPmixInit, 0), ElementsAre("yes "));
  EXPECT_TRUE(ranks.engine().active());
  EXPECT_THAT(ranks.Send(kMusterPmixFinalize, 0), ElementsAre("yes "));
  EXPECT_FALSE(ranks.engine().active());
  EXPECT_EQ(ranks.engine().Ended(0, kClean), std::nullopt);
}

TEST(PmixEngineTest, AFenceReturnsItsData) {
  Ranks ranks(2);
  ranks.InitAll(2);
  EXPECT_THAT(ranks.Fence("ab"), ElementsAre("yes ab"));
}

// PMIx counts a rank whose connection is lost as one that has come.
TEST(PmixEngineTest, AFenceWithoutAnEndedRankDoesNotEnd) {
  Ranks ranks(3);
  ranks.InitAll(3);
  ASSERT_TRUE(ranks.engine().Ended(1, kKilled));
  EXPECT_THAT(ranks.Fence("ab"), IsEmpty());
  EXPECT_THAT(ranks.Fence("a", {0, 2}), ElementsAre("yes a")) << "rank 1 does not take part";
  EXPECT_THAT(ranks.Close(), ElementsAre("no "));
}

TEST(PmixEngineTest, ARankThatEndedBeforeAFenceIsBlamed) {
  for (const std::vector<int>& fence : {std::vector<int>(), std::vector<int>({1, 2})}) {
    Ranks ranks(3);
    ranks.InitAll(3);
    ranks.Send(kMusterPmixFinalize, 1);
    EXPECT_EQ(ranks.engine().Ended(1, kClean), std::nullopt);
    EXPECT_THAT(
        ranks.Fence("a", fence),
        ElementsAre(MatchesRegex("blame: without the barrier in which rank [02] waits for it")));
  }
}

TEST(PmixEngineTest, TheDataOfOtherNodesIsNotFound) {
  Ranks ranks(1);
  EXPECT_THAT(ranks.Send(kMusterPmixModex, 5), ElementsAre("no "));
}

TEST(PmixEngineTest, ARankThatEndsInMpiIsAtFault) {
  Ranks ranks(2);
  ranks.InitAll(2);
  const auto fault = ranks.engine().Ended(1, kClean);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->text, "before MPI_Finalize()");
}

TEST(PmixEngineTest, ARankThatEndsWithoutInitIsAtFault) {
  Ranks ranks(2);
  EXPECT_EQ(ranks.engine().Ended(1, kClean), std::nullopt);
  EXPECT_THAT(ranks.Send(kMusterPmixInit, 0),
              ElementsAre("blame: without MPI_Init(), in which rank 0 waits for it", "yes "));
}

TEST(PmixEngineTest, AnAbortHasItsCodeAndText) {
  Ranks ranks(2);
  ranks.InitAll(2);
  Request request;
  request.call = kMusterPmixAbort;
  request.rank = 1;
  request.code = 23;
  request.text = "no data\x01";
  EXPECT_THAT(ranks.Send(request), ElementsAre("expel 1", "yes "));
  const auto fault = ranks.engine().Ended(1, kKilled);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, 23);
  EXPECT_THAT(fault->text, HasSubstr("called MPI_Abort(23): no data"));
}

TEST(PmixEngineTest, AnAbortWithoutTextSaysNoMore) {
  Ranks ranks(1);
  ranks.InitAll(1);
  Request request;
  request.call = kMusterPmixAbort;
  request.code = 1;
  request.text = "N/A";
  ranks.Send(request);
  EXPECT_EQ(ranks.engine().Ended(0, kKilled)->text, "called MPI_Abort(1)");
}

TEST(PmixEngineTest, SpawnAndTheNameServiceAreAnnounced) {
  Ranks ranks(1);
  ranks.InitAll(1);
  Request request;
  request.world = "world";
  request.call = kMusterPmixSpawn;
  const Effects effects = ranks.engine().Receive(request, kStart);
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_EQ(
      std::get<Announce>(std::get<MpiEffect>(effects[0])).text,
      "rank 0 (node n0) asks for MPI_Comm_spawn(), which muster run does not offer: start all "
      "ranks together, by --nproc-per-node");
}

TEST(PmixEngineTest, ALongInitIsAnnounced) {
  Ranks ranks(3);
  ranks.Send(kMusterPmixInit, 0);
  ranks.Send(kMusterPmixInit, 2);
  EXPECT_THAT(ranks.Warn(kStart + absl::Seconds(2)), ElementsAre("look"));
  EXPECT_THAT(ranks.Warn(kStart + MpiRanks::kFirstWarning),
              ElementsAre("ranks 0,2 (node n0) have waited 10s in MPI_Init() for rank 1, which has "
                          "not called it",
                          "look"));
}

TEST(PmixEngineTest, ALongFenceIsAnnounced) {
  Ranks ranks(3);
  ranks.InitAll(3);
  const absl::Time seen = kStart + absl::Seconds(2);
  EXPECT_EQ(ranks.engine().next_warning(), kStart + Engine::kLookInterval);
  EXPECT_THAT(ranks.Warn(seen), ElementsAre("look"));
  ranks.Waiting({0, 2}, seen);
  EXPECT_THAT(
      ranks.Warn(seen + MpiRanks::kFirstWarning),
      ElementsAre("ranks 0,2 (node n0) have waited 10s in a barrier of MPI for rank 1, in MPI but "
                  "not there",
                  "look"));
  ranks.Fence("");
  ranks.Waiting({}, seen + absl::Seconds(15));
  EXPECT_THAT(ranks.Warn(seen + absl::Seconds(20)), ElementsAre("look"));
}

TEST(PmixEngineTest, ARankMayEndSoonAfterAFenceInWhichOthersWereSeen) {
  Ranks ranks(2);
  ranks.InitAll(2);
  ranks.Waiting({0}, kStart);
  ranks.Send(kMusterPmixFinalize, 1);
  EXPECT_EQ(ranks.engine().Ended(1, kClean), std::nullopt);
}

TEST(PmixEngineTest, NobodyLooksWhenNoRankIsInMpi) {
  Ranks ranks(2);
  EXPECT_EQ(ranks.engine().next_warning(), absl::InfiniteFuture());
  ranks.InitAll(2);
  ranks.Send(kMusterPmixFinalize, 0);
  ranks.Send(kMusterPmixFinalize, 1);
  EXPECT_THAT(ranks.Warn(kStart + absl::Seconds(2)), IsEmpty());
  EXPECT_EQ(ranks.engine().next_warning(), absl::InfiniteFuture());
}

TEST(PmixEngineTest, OtherWorldsAndRanksAreRefused) {
  Ranks ranks(1);
  Request request;
  request.world = "the one before";
  EXPECT_THAT(ranks.Send(request), ElementsAre("no "));
  EXPECT_THAT(ranks.Send(kMusterPmixInit, 7), ElementsAre("no "));
  EXPECT_THAT(ranks.Send(kMusterPmixInit, -1), ElementsAre("no "));
  EXPECT_FALSE(ranks.engine().active());
}

// ---- Several nodes. This one has ranks 0 and 1 ----

TEST(PmixEngineTest, AFenceOfAllRanksIsAnExchangeOfAllNodes) {
  Ranks ranks(2, {2, 1, 1});
  ranks.InitAll(2);
  EXPECT_THAT(ranks.Fence("ab"), ElementsAre("fence of 0,1,2: ab"));
  EXPECT_THAT(ranks.Exchanged("fence", {"c", "d"}), ElementsAre("yes abcd"));
  EXPECT_THAT(ranks.Fence(""), ElementsAre("fence of 0,1,2: "));
  EXPECT_THAT(ranks.Exchanged("fence", {"", ""}), ElementsAre("yes "));
  EXPECT_THAT(ranks.Exchanged("fence", {"", ""}), IsEmpty()) << "none is in progress";
}

TEST(PmixEngineTest, AFenceOfSomeRanksIsAnExchangeOfTheirNodes) {
  Ranks ranks(2, {2, 1, 1});
  ranks.InitAll(2);
  EXPECT_THAT(ranks.Fence("a", {0, 1}), ElementsAre("yes a"));
  const std::vector<std::string> one = ranks.Fence("a", {3, 1});
  EXPECT_THAT(one, ElementsAre(MatchesRegex("fence-[0-9a-f]+ of 0,2: a")));
  const std::vector<std::string> two = ranks.Fence("b", {1, 2});
  EXPECT_THAT(two, ElementsAre(MatchesRegex("fence-[0-9a-f]+ of 0,1: b")));
  const std::string name = one[0].substr(0, one[0].find(' '));
  EXPECT_NE(name, two[0].substr(0, two[0].find(' ')));
  EXPECT_THAT(ranks.Exchanged(name, {"z"}), ElementsAre("yes az"));
  EXPECT_THAT(ranks.Close(), ElementsAre("no "));
}

// By PMIx_Fence_nb().
TEST(PmixEngineTest, FencesOfTheSameRanksFollowEachOther) {
  Ranks ranks(1, {1, 1});
  ranks.InitAll(1);
  EXPECT_THAT(ranks.Fence("a"), ElementsAre("fence of 0,1: a"));
  EXPECT_THAT(ranks.Fence("b"), IsEmpty());
  EXPECT_THAT(ranks.Fence("c"), IsEmpty());
  EXPECT_THAT(ranks.Exchanged("fence", {"A"}), ElementsAre("yes aA", "fence of 0,1: b"));
  EXPECT_THAT(ranks.Exchanged("fence", {"B"}), ElementsAre("yes bB", "fence of 0,1: c"));
  EXPECT_THAT(ranks.Close(), ElementsAre("no "));
}

TEST(PmixEngineTest, TheDataOfARankOfAnotherNodeAreAskedForOnce) {
  Ranks ranks(2, {2, 1});
  EXPECT_THAT(ranks.Send(kMusterPmixModex, 2), ElementsAre("ask 2"));
  EXPECT_THAT(ranks.Send(kMusterPmixModex, 2), IsEmpty());
  EXPECT_THAT(ranks.Answered(2, "data"), ElementsAre("yes data", "yes data"));
  EXPECT_THAT(ranks.Send(kMusterPmixModex, 2), ElementsAre("ask 2"));
  EXPECT_THAT(ranks.Answered(2, std::nullopt), ElementsAre("no "));
  EXPECT_THAT(ranks.Send(kMusterPmixModex, 1), ElementsAre("no "));
  EXPECT_THAT(ranks.Send(kMusterPmixModex, 3), ElementsAre("no "));
}

// A sanitizer finds what else would not be seen. A rank may name any number in PMIx_Get().
TEST(PmixEngineTest, TheDataOfNoRankAreNotFound) {
  Ranks ranks(1, {1, 1}, /*first_rank=*/1);
  for (const int rank : {std::numeric_limits<int>::min(), -1, std::numeric_limits<int>::max()}) {
    EXPECT_THAT(ranks.Send(kMusterPmixModex, rank), ElementsAre("no "));
  }
}

TEST(PmixEngineTest, TheDataOfARankOfThisNodeAreTold) {
  Ranks ranks(2, {2, 1});
  Request data;
  data.call = kMusterPmixData;
  data.rank = 1;
  data.data = "bytes";
  EXPECT_THAT(ranks.Send(data), ElementsAre("tell 1 bytes"));
  data.code = 1;
  EXPECT_THAT(ranks.Send(data), ElementsAre("tell 1 (none)"));
}

TEST(PmixEngineTest, AFenceThatWaitsForOtherNodesIsAnnounced) {
  Ranks ranks(2, {2, 1});
  ranks.engine().NodesAreIn();
  ranks.InitAll(2);
  ranks.Fence("ab");
  ranks.Waiting({}, kStart);  // PMIx does not count them any more
  EXPECT_THAT(ranks.Warn(kStart + absl::Seconds(10), "rank 2 (node n1)"),
              ElementsAre("ranks 0-1 (node n0) have waited 10s in a barrier of MPI for rank 2 "
                          "(node n1)",
                          "look"));
  EXPECT_THAT(ranks.Exchanged("fence", {"c"}), ElementsAre("yes abc"));
  EXPECT_THAT(
      ranks.Fail("node n1 was started again"),
      ElementsAre("MPI cannot go on on node n0: node n1 was started again", "expel 0", "expel 1"));
}

}  // namespace
}  // namespace muster::launcher::pmix
