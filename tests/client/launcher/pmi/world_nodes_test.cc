// Tests of pmi::WorldNodes: nodes that share a store without daemon and processes.
#include "client/launcher/pmi/world_nodes.h"

#include <map>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher::pmi {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const absl::Time kStart = absl::UnixEpoch();

// The keys below the prefix of a world, with their changes in order.
struct Store {
  struct Change {
    std::string key;
    std::optional<std::string> value;
  };
  std::vector<Change> changes;

  std::map<std::string, std::string> Keys() const {
    std::map<std::string, std::string> keys;
    for (const Change& change : changes) {
      if (change.value) keys[change.key] = *change.value;
      if (!change.value) keys.erase(change.key);
    }
    return keys;
  }
  std::vector<std::string> KeysOf(const std::string& kind) const {
    std::vector<std::string> found;
    for (const auto& [key, value] : Keys()) {
      if (absl::StartsWith(key, kind + "/")) found.push_back(key);
    }
    return found;
  }
};

// A launcher, which writes what happens to it as text.
class Launcher {
 public:
  Launcher(Store* store, int node, std::vector<int> sizes, const std::string& token)
      : store_(store),
        client_("client-" + token),
        nodes({node, std::move(sizes), absl::StrCat("n", node), token}) {}

  void Join() { Carry(nodes.Join(client_)); }
  void Carry(const NodesEffects& effects) {
    for (const NodesEffect& effect : effects) {
      if (const auto* set = std::get_if<SetKey>(&effect)) {
        store_->changes.push_back({set->key, set->value});
      } else if (const auto* gone = std::get_if<DeleteKey>(&effect)) {
        store_->changes.push_back({gone->key, std::nullopt});
      } else if (const auto* formed = std::get_if<WorldFormed>(&effect)) {
        happened.push_back("formed " + formed->name);
      } else if (const auto* ended = std::get_if<ExchangeEnded>(&effect)) {
        happened.push_back(ended->exchange);
        parts = ended->parts;
      } else if (const auto* asked = std::get_if<RankAsked>(&effect)) {
        happened.push_back(absl::StrCat("asked ", asked->rank));
      } else if (const auto* answered = std::get_if<RankAnswered>(&effect)) {
        happened.push_back(
            absl::StrCat("answered ", answered->rank, " ", answered->data.value_or("(none)")));
      } else if (const auto* over = std::get_if<WorldEnded>(&effect)) {
        happened.push_back(absl::StrCat(over->end.restarts ? "restarts " : "ended ",
                                        over->end.abort_code.value_or(-1), " ", over->end.why));
      } else {
        happened.push_back("broken: " + std::get<WorldBroken>(effect).why);
      }
    }
  }

  bool behind() const { return read_ < store_->changes.size(); }
  // Reads the next change. A watch may leave out a change of a key that has changed again.
  void Read(bool skips, absl::Time now = kStart) {
    const Store::Change change = store_->changes[read_++];
    for (size_t i = read_; skips && i < store_->changes.size(); ++i) {
      if (store_->changes[i].key == change.key) return;
    }
    Carry(nodes.Receive(change.key, change.value, now));
  }
  void ReadAll(absl::Time now = kStart) {
    while (behind()) Read(false, now);
  }
  std::vector<std::string> TakeHappened() { return std::exchange(happened, {}); }

 private:
  Store* const store_;
  const std::string client_;
  size_t read_ = 0;

 public:
  WorldNodes nodes;
  std::vector<std::string> happened;
  std::vector<std::string> parts;  // of the latest exchange
};

// Nodes that have joined.
class World {
 public:
  explicit World(std::vector<int> sizes) {
    for (int i = 0; i < static_cast<int>(sizes.size()); ++i) {
      launchers.push_back(std::make_unique<Launcher>(&store, i, sizes, absl::StrCat("t", i)));
      all.push_back(i);
    }
  }
  Launcher& operator[](int node) { return *launchers[node]; }
  void Join() {
    for (const auto& launcher : launchers) launcher->Join();
    ReadAll();
    for (const auto& launcher : launchers) launcher->TakeHappened();
  }
  void Begin(int node, const std::string& part) {
    (*this)[node].Carry((*this)[node].nodes.Begin("barrier", all, part));
  }
  void ReadAll(absl::Time now = kStart) {
    for (bool again = true; again;) {
      again = false;
      for (const auto& launcher : launchers) {
        again |= launcher->behind();
        launcher->ReadAll(now);
      }
    }
  }

  Store store;
  std::vector<std::unique_ptr<Launcher>> launchers;
  std::vector<int> all;
};

TEST(WorldShapeTest, NodesHaveTheirRanksInOrder) {
  const WorldShape shape = {1, {1, 3, 2}, "n1", "t"};
  EXPECT_EQ(shape.first_rank(2), 4);
  EXPECT_EQ(shape.NodeOf(0), 0);
  EXPECT_EQ(shape.NodeOf(3), 1);
  EXPECT_EQ(shape.NodeOf(4), 2);
  EXPECT_EQ(shape.NodeOf(6), -1);
}

TEST(WorldNodesTest, AWorldIsFormedWhenAllNodesHaveCome) {
  World world({1, 1});
  world[1].Join();
  world.ReadAll();
  EXPECT_THAT(world[1].happened, IsEmpty());
  EXPECT_EQ(world[1].nodes.DescribeMissing(),
            "rank 0 (node number 0), which has not called MPI_Init()");
  world[0].Join();
  world.ReadAll();
  EXPECT_THAT(world[0].happened, ElementsAre("formed t0"));
  EXPECT_THAT(world[1].happened, ElementsAre("formed t0"));
}

TEST(WorldNodesTest, AnExchangeBringsThePartsOfAllOthers) {
  World world({1, 1, 1});
  world.Join();
  world.Begin(0, "a");
  world.Begin(2, "c");
  world.ReadAll();
  EXPECT_THAT(world[0].happened, IsEmpty());
  EXPECT_EQ(world[0].nodes.DescribeMissing(), "rank 1 (node n1)");
  world.Begin(1, "b");
  world.ReadAll();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(world[i].TakeHappened(), ElementsAre("barrier"));
  EXPECT_THAT(world[0].parts, ElementsAre("b", "c"));
  EXPECT_THAT(world[1].parts, ElementsAre("a", "c"));
  EXPECT_THAT(world[2].parts, ElementsAre("a", "b"));
  EXPECT_EQ(world[0].nodes.DescribeMissing(), "");
}

TEST(WorldNodesTest, ALargePartTravelsInChunks) {
  World world({1, 1});
  world.Join();
  const std::string large = std::string(WorldNodes::kChunkBytes, 'a') +
                            std::string(WorldNodes::kChunkBytes, 'b') + "\ncc";
  world.Begin(0, large);
  world.Begin(1, "");
  EXPECT_THAT(world.store.KeysOf("part/0"), SizeIs(3));
  EXPECT_THAT(world.store.KeysOf("part/1"), SizeIs(1));
  world.ReadAll();
  EXPECT_EQ(world[1].parts, std::vector<std::string>{large});
  EXPECT_THAT(world[0].parts, ElementsAre(""));
}

// A node that ends an exchange knows that all have ended the one before.
TEST(WorldNodesTest, PartsAreDeletedWhenAllHaveReadThem) {
  World world({1, 1});
  world.Join();
  for (int round = 1; round <= 5; ++round) {
    for (int i = 0; i < 2; ++i) world.Begin(i, absl::StrCat(round));
    world.ReadAll();
    EXPECT_THAT(world[0].parts, ElementsAre(absl::StrCat(round)));
    EXPECT_THAT(world.store.KeysOf("part"),
                ElementsAre(absl::StrCat("part/0/barrier/", round, "/0"),
                            absl::StrCat("part/1/barrier/", round, "/0")));
  }
}

TEST(WorldNodesTest, ExchangesOfSomeNodesDoNotDisturbOthers) {
  World world({1, 1, 1});
  world.Join();
  for (const int node : {0, 2}) {
    world[node].Carry(world[node].nodes.Begin("pair", {0, 2}, absl::StrCat("p", node)));
  }
  world.ReadAll();
  EXPECT_THAT(world[0].happened, ElementsAre("pair"));
  EXPECT_THAT(world[0].parts, ElementsAre("p2"));
  EXPECT_THAT(world[1].happened, IsEmpty());
  EXPECT_EQ(world[1].nodes.next_report(), absl::InfiniteFuture());
}

// ---- Launchers that were killed ----

TEST(WorldNodesTest, KeysOfAnEarlierRunDoNotCount) {
  World world({1, 1});
  Store& store = world.store;
  {
    World earlier({1, 1});
    earlier.Join();
    for (int i = 0; i < 2; ++i) earlier.Begin(i, "old");
    earlier.ReadAll();
    for (int i = 0; i < 2; ++i) earlier.Begin(i, "older");
    store.changes = earlier.store.changes;
  }
  for (int i = 0; i < 2; ++i) {
    world.launchers[i] =
        std::make_unique<Launcher>(&store, i, std::vector<int>{1, 1}, absl::StrCat("new", i));
  }
  world[0].Join();
  world.Begin(0, "a");  // node 1 seems to be there
  world.ReadAll();
  EXPECT_THAT(world[0].TakeHappened(), IsEmpty());
  EXPECT_EQ(world[0].nodes.DescribeMissing(), "rank 1 (node n1)");
  world[1].Join();
  world.Begin(1, "b");
  world.ReadAll();
  EXPECT_THAT(world[0].TakeHappened(), ElementsAre("formed new0", "barrier"));
  EXPECT_THAT(world[0].parts, ElementsAre("b"));
  EXPECT_THAT(world[1].parts, ElementsAre("a"));
}

// The name is that of node 0's launcher. It must not be an earlier one's, for the ranks of any
// node.
TEST(WorldNodesTest, AllNodesKnowTheWorldByTheNameOfALauncherThatIsThere) {
  World world({1, 1});
  world.store.changes.push_back({"node/0", "killed 1,1 - client-killed n0"});
  world[1].Join();
  world[1].ReadAll();
  EXPECT_THAT(world[1].happened, IsEmpty());
  world[0].Join();
  world.ReadAll();
  for (int i = 0; i < 2; ++i) EXPECT_THAT(world[i].happened, ElementsAre("formed t0"));
}

TEST(WorldNodesTest, ALauncherThatIsStartedAgainBreaksTheWorld) {
  World world({1, 1});
  world.Join();
  for (int i = 0; i < 2; ++i) world.Begin(i, "");
  world.ReadAll();
  world[0].TakeHappened();
  world.launchers[1] = std::make_unique<Launcher>(&world.store, 1, std::vector<int>{1, 1}, "again");
  world[1].Join();
  world.ReadAll();
  EXPECT_THAT(world[0].happened,
              ElementsAre(StartsWith("broken: muster run on node n1 was started again")));
}

TEST(WorldNodesTest, TwoLaunchersOfOneNodeAreTold) {
  World world({1, 1});
  world.Join();
  Launcher second(&world.store, 1, {1, 1}, "second");
  second.Join();
  world.ReadAll();
  EXPECT_THAT(world[1].happened,
              ElementsAre(StartsWith("broken: another muster run has --node-rank 1, too")));
}

TEST(WorldNodesTest, OtherSizesAreTold) {
  Store store;
  Launcher first(&store, 0, {2, 2}, "t0");
  Launcher second(&store, 1, {1, 1}, "t1");
  first.Join();
  second.Join();
  first.ReadAll();
  EXPECT_THAT(first.happened,
              ElementsAre(StartsWith("broken: the nodes have 1,1 ranks by the flags of node n1, "
                                     "and 2,2 by those of this one")));
}

// Every client of the store can set the keys.
TEST(WorldNodesTest, TextsOfOtherNodesAreMadePrintable) {
  World world({1, 1});
  world.store.changes.push_back({"node/1", "t1 1,1 - client n\x1b[2J"});
  world[0].Join();
  world.ReadAll();
  world.Begin(0, "");
  EXPECT_EQ(world[0].nodes.DescribeMissing(), "rank 1 (node n?[2J)");
  world.store.changes.push_back({"wait/1", "rank 1\nand more"});
  world.ReadAll();
  EXPECT_EQ(world[0].nodes.DescribeMissing(), "rank 1?and more");
  world.store.changes.push_back({"end/1", "t1 - \nrank 1 ended\n\x07" + std::string(9000, 'x')});
  world.ReadAll();
  ASSERT_THAT(world[0].happened, SizeIs(1));
  EXPECT_THAT(world[0].happened[0], StartsWith("ended -1 rank 1 ended??xxx"));
  EXPECT_LT(world[0].happened[0].size(), 5000u);
}

// Every client of the store can set the keys, also those of a part that has come.
TEST(WorldNodesTest, APartMayChangeBeforeAllPartsHaveCome) {
  for (const bool other_view : {true, false}) {
    World world({1, 1, 1});
    world.Join();
    for (int i = 0; i < 2; ++i) world.Begin(i, "first");
    world.ReadAll();
    const std::string part = world.store.Keys().at("part/1/barrier/1/0");
    const std::string changed =
        other_view ? "other 1 *\nfirst" : absl::StrReplaceAll(part, {{" 1 *", " 2 *"}});
    world.store.changes.push_back({"part/1/barrier/1/0", changed});
    world[0].ReadAll();
    world.Begin(2, "last");
    world[0].ReadAll();
    EXPECT_THAT(world[0].happened, IsEmpty());
    EXPECT_EQ(world[0].nodes.DescribeMissing(), "rank 1 (node n1)");
    world.store.changes.push_back({"part/1/barrier/1/0", part});
    world[0].ReadAll();
    EXPECT_THAT(world[0].happened, ElementsAre("barrier"));
    EXPECT_THAT(world[0].parts, ElementsAre("first", "last"));
  }
}

TEST(WorldNodesTest, ALostLauncherEndsTheWorld) {
  World world({1, 1});
  world.Join();
  world[0].Carry(world[0].nodes.LoseClient("client-of-a-rank"));
  EXPECT_THAT(world[0].happened, IsEmpty());
  world[0].Carry(world[0].nodes.LoseClient("client-t1"));
  world.ReadAll();
  EXPECT_THAT(world[0].happened,
              ElementsAre("ended -1 muster run on node n1 is lost: the process or its machine has "
                          "ended, or cannot reach the coordinator"));
}

TEST(WorldNodesTest, ALauncherMayLeaveAfterItsRanks) {
  World world({1, 1});
  world.Join();
  world[1].Carry(world[1].nodes.Leave());
  EXPECT_THAT(world[1].nodes.Leave(), IsEmpty());
  world[0].Carry(world[0].nodes.LoseClient("client-t1"));  // overtakes what it has told
  world.ReadAll();
  EXPECT_THAT(world[0].happened, IsEmpty());
}

TEST(WorldNodesTest, ALauncherThatIsLostBeforeTheWorldIsFormedHasNotCome) {
  World world({1, 1, 1});
  world[0].Join();
  world[1].Join();
  world[0].ReadAll();
  world[0].Carry(world[0].nodes.LoseClient("client-t1"));
  world[2].Carry(world[2].nodes.LoseClient("client-t1"));  // before it reads its key
  world[2].Join();
  world.ReadAll();
  for (const int node : {0, 2}) {
    EXPECT_EQ(world[node].nodes.DescribeMissing(),
              "rank 1 (node number 1), which has not called MPI_Init()");
  }
}

TEST(WorldNodesTest, ANodeThatHasLeftWithoutABarrierBreaksTheWorld) {
  World world({1, 2});
  world.Join();
  for (int i = 0; i < 2; ++i) world.Begin(i, "");
  world.ReadAll();
  world[0].TakeHappened();
  world[1].Carry(world[1].nodes.Leave());
  world.ReadAll();
  EXPECT_THAT(world[0].happened, IsEmpty());
  world.Begin(0, "");
  EXPECT_THAT(world[0].happened,
              ElementsAre("broken: ranks 1-2 (node n1) have left MPI without a barrier in which "
                          "ranks of this node wait for them"));
}

// ---- Ends ----

TEST(WorldNodesTest, TheFirstEndReachesAllNodes) {
  World world({1, 1, 1});
  world.Join();
  world[1].Carry(world[1].nodes.End({"rank 1 is gone for good"}));
  world[2].Carry(world[2].nodes.End({"rank 2 has an error", 7}));  // a consequence
  EXPECT_FALSE(world[2].nodes.settled());
  world.ReadAll();
  EXPECT_THAT(world[0].happened, ElementsAre("ended -1 rank 1 is gone for good"));
  EXPECT_THAT(world[1].happened, IsEmpty());
  EXPECT_THAT(world[2].happened, ElementsAre("ended -1 rank 1 is gone for good"));
  EXPECT_TRUE(world[1].nodes.settled() && world[2].nodes.settled());
}

TEST(WorldNodesTest, AnAbortHasItsCode) {
  World world({1, 1});
  world.Join();
  world[1].Carry(world[1].nodes.End({"rank 1 called MPI_Abort(5)", 5}));
  world.ReadAll();
  EXPECT_THAT(world[0].happened, ElementsAre("ended 5 rank 1 called MPI_Abort(5)"));
}

TEST(WorldNodesTest, ARestartReachesAllNodes) {
  World world({1, 1});
  world.Join();
  world[1].Carry(world[1].nodes.End({"rank 1 is gone", std::nullopt, /*restarts=*/true}));
  world.ReadAll();
  EXPECT_THAT(world[0].happened, ElementsAre("restarts -1 rank 1 is gone"));
}

TEST(WorldNodesTest, ANodeThatHasNotJoinedSaysNothing) {
  World world({1, 1});
  EXPECT_THAT(world[0].nodes.End({"rank 0 is gone"}), IsEmpty());
}

// A rank has failed outside of MPI. Before its launcher ends another one, that calls MPI_Init().
TEST(WorldNodesTest, ANodeThatJoinsAfterItsEndSaysSo) {
  World world({1, 1});
  world[0].Join();
  world[1].Carry(world[1].nodes.End({"rank 1 is gone", 3}));
  world[1].Carry(world[1].nodes.End({"rank 2 is gone, too"}));
  EXPECT_TRUE(world[1].nodes.settled());
  world[1].Join();
  EXPECT_FALSE(world[1].nodes.settled());
  world.ReadAll();
  EXPECT_THAT(world[0].happened, ElementsAre("ended 3 rank 1 is gone"));
  EXPECT_TRUE(world[1].nodes.settled());
}

// ---- Waits ----

TEST(WorldNodesTest, ANodeSaysForWhichOfItsRanksOthersWait) {
  World world({1, 2});
  world.Join();
  world.Begin(0, "");
  world.ReadAll();
  EXPECT_EQ(world[0].nodes.next_report(), absl::InfiniteFuture());
  EXPECT_EQ(world[1].nodes.next_report(), kStart + WorldNodes::kWaitInterval);
  EXPECT_THAT(world[1].nodes.Report("rank 2", kStart), IsEmpty());  // too early
  const absl::Time due = kStart + WorldNodes::kWaitInterval;
  world[1].Carry(world[1].nodes.Report("rank 2 (node n1), in MPI but not there", due));
  world.ReadAll(due);
  EXPECT_EQ(world[0].nodes.DescribeMissing(), "rank 2 (node n1), in MPI but not there");
  const absl::Time later = due + WorldNodes::kWaitInterval;
  EXPECT_EQ(world[1].nodes.next_report(), later);
  EXPECT_THAT(world[1].nodes.Report("rank 2 (node n1), in MPI but not there", later), IsEmpty());
  world.Begin(1, "");
  EXPECT_EQ(world[1].nodes.next_report(), absl::InfiniteFuture());
  world.ReadAll(later);
  world.Begin(0, "");  // the next barrier
  EXPECT_EQ(world[0].nodes.DescribeMissing(), "ranks 1-2 (node n1)");
}

TEST(WorldNodesTest, OfManyMissingNodesSomeAreNamed) {
  World world({1, 1, 1, 1, 1, 1});
  world.Join();
  world.Begin(0, "");
  EXPECT_EQ(world[0].nodes.DescribeMissing(),
            "rank 1 (node n1), and for rank 2 (node n2), and for rank 3 (node n3), and for 2 more "
            "nodes");
}

// ---- Questions ----

TEST(WorldNodesTest, TheDataOfARankComeFromItsNode) {
  World world({1, 2});
  world.Join();
  world[0].Carry(world[0].nodes.Ask(2));
  EXPECT_THAT(world[0].nodes.Ask(2), IsEmpty());  // is asked already
  world.ReadAll();
  EXPECT_THAT(world[1].TakeHappened(), ElementsAre("asked 2"));
  world[1].Carry(world[1].nodes.Answer(2, "its data\n"));
  world.ReadAll();
  EXPECT_THAT(world[0].TakeHappened(), ElementsAre("answered 2 its data\n"));
  world[0].Carry(world[0].nodes.Ask(2));
  world.ReadAll();
  world[1].Carry(world[1].nodes.Answer(2, std::nullopt));
  world.ReadAll();
  EXPECT_THAT(world[0].TakeHappened(), ElementsAre("answered 2 (none)"));
}

TEST(WorldNodesTest, RanksOfThisNodeAndUnknownOnesHaveNoData) {
  World world({1, 1});
  world.Join();
  world[0].Carry(world[0].nodes.Ask(0));
  world[0].Carry(world[0].nodes.Ask(7));
  EXPECT_THAT(world[0].happened, ElementsAre("answered 0 (none)", "answered 7 (none)"));
}

TEST(WorldNodesTest, RanksOfALauncherThatHasEndedHaveNoData) {
  World world({1, 2});
  world.Join();
  world[0].Carry(world[0].nodes.Ask(1));
  world[1].Carry(world[1].nodes.Leave());
  world[0].Carry(world[0].nodes.LoseClient("client-t1"));
  world[0].ReadAll();
  EXPECT_THAT(world[0].TakeHappened(), ElementsAre("answered 1 (none)"));
  world[0].Carry(world[0].nodes.Ask(2));
  EXPECT_THAT(world[0].happened, ElementsAre("answered 2 (none)"));
}

// Nodes read with random delays, and miss changes that are overtaken, as watches do. What must
// hold: each exchange ends on all its nodes, with the parts of this exchange, and few keys are
// left.
TEST(WorldNodesTest, RandomSchedulesEndAllExchanges) {
  constexpr int kRounds = 8;
  for (int seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const int count = 2 + static_cast<int>(random() % 3);
    World world((std::vector<int>(count, 1)));
    std::vector<int> rounds(count);  // that the node has begun
    std::vector<size_t> ended(count);
    std::vector<bool> joined(count);
    for (int step = 0; step < 20000; ++step) {
      const int node = static_cast<int>(random() % count);
      Launcher& launcher = world[node];
      if (!joined[node]) {
        joined[node] = true;
        launcher.Join();
      } else if (random() % 3 == 0 && launcher.behind()) {
        launcher.Read(random() % 2 == 0);
      }
      const std::vector<std::string> happened = launcher.TakeHappened();
      for (const std::string& what : happened) {
        if (what != "barrier") {
          ASSERT_EQ(what, "formed t0") << seed;
          continue;
        }
        ++ended[node];
        ASSERT_THAT(launcher.parts, SizeIs(count - 1)) << seed;
        for (const std::string& part : launcher.parts) {
          ASSERT_THAT(part, StartsWith(absl::StrCat("round ", ended[node], " of "))) << seed;
        }
      }
      if (rounds[node] == static_cast<int>(ended[node]) && rounds[node] < kRounds &&
          random() % 4 == 0) {
        ++rounds[node];
        world.Begin(node, absl::StrCat("round ", rounds[node], " of ", node));
      }
    }
    world.ReadAll();
    for (int node = 0; node < count; ++node) {
      ended[node] += world[node].TakeHappened().size();
      ASSERT_EQ(ended[node], static_cast<size_t>(kRounds)) << seed;
    }
    ASSERT_THAT(world.store.KeysOf("part"), SizeIs(count)) << seed;
  }
}

// The watch of a node that joins late reports the keys in the order of their names.
TEST(WorldNodesTest, ARefusedRestartIsHeardBeforeTheNodeThatRefuses) {
  for (const char* known : {"of the world before", "of another"}) {
    WorldShape shape;
    shape.ranks_of_nodes = {1, 1};
    shape.token = "t0";
    shape.previous = "of the world before";
    WorldNodes nodes(shape);
    nodes.Join("client");
    const NodesEffects effects = nodes.Receive(
        "end/1", absl::StrCat("t1 - ", known, "\nnode b does not restart"), absl::UnixEpoch());
    const bool ended = !effects.empty() && std::holds_alternative<WorldEnded>(effects.front());
    EXPECT_EQ(ended, known == shape.previous);
  }
}

}  // namespace
}  // namespace muster::launcher::pmi
