// Tests of pmi::Engine: what it answers to each command, barriers, and what it makes of broken
// ranks.
#include "client/launcher/pmi/engine.h"

#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/pmi/process_mapping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher::pmi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kInit[] = "cmd=init pmi_version=1 pmi_subversion=1\n";
constexpr ProcessEnd kClean = {false, 0};
constexpr ProcessEnd kKilled = {true, 9};
const absl::Time kStart = absl::UnixEpoch();

// An engine whose exchange ends at once, as on one node, unless `holds` is set.
class Ranks {
 public:
  explicit Ranks(int size)
      : engine_({0, size, size, "n0", "kvs_1", absl::StrCat("(vector,(0,1,", size, "))")}) {}

  // Returns what the sender is answered. `others()` has what others are answered meanwhile.
  std::vector<std::string> Send(int rank, const std::string& bytes, absl::Time now = kStart) {
    others_.clear();
    std::vector<std::string> answers;
    for (const Effect& effect : Carry(engine_.Receive(rank, bytes, now))) {
      if (const auto* reply = std::get_if<Reply>(&effect)) {
        (reply->local_rank == rank ? answers : others_).push_back(reply->line);
      }
      const auto* const mpi = std::get_if<MpiEffect>(&effect);
      if (mpi == nullptr) continue;
      if (const auto* announce = std::get_if<Announce>(mpi)) said_ = announce->text;
      if (const auto* blame = std::get_if<Blame>(mpi)) said_ = blame->fault.text;
      if (std::holds_alternative<Expel>(*mpi)) answers.push_back("(closed)");
    }
    return answers;
  }
  void InitAll(int size) {
    for (int i = 0; i < size; ++i) Send(i, kInit);
  }
  const std::vector<std::string>& others() const { return others_; }
  const std::string& said() const { return said_; }
  std::string Warning(absl::Time now) {
    const Effects effects = engine_.Warn(now);
    return effects.empty() ? "" : std::get<Announce>(std::get<MpiEffect>(effects[0])).text;
  }
  Engine& engine() { return engine_; }
  bool holds = false;

 private:
  Effects Carry(const Effects& effects) {
    Effects all;
    for (const Effect& effect : effects) {
      all.push_back(effect);
      if (!std::holds_alternative<BeginExchange>(effect) || holds) continue;
      for (const Effect& next : engine_.Exchanged(Values())) all.push_back(next);
    }
    return all;
  }

  Engine engine_;
  std::vector<std::string> others_;
  std::string said_;
};

TEST(EngineTest, AnswersTheHandshake) {
  Ranks ranks(2);
  EXPECT_THAT(ranks.Send(1, kInit),
              ElementsAre("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"));
  EXPECT_THAT(ranks.Send(1, "cmd=get_maxes\ncmd=get_appnum\ncmd=get_my_kvsname\n"),
              ElementsAre("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
                          "cmd=appnum appnum=0", "cmd=my_kvsname kvsname=kvs_1"));
  EXPECT_THAT(ranks.Send(1, "cmd=get_universe_size\n"), ElementsAre("cmd=universe_size size=2"));
  EXPECT_THAT(ranks.Send(1, "cmd=get kvsname=kvs_1 key=PMI_process_mapping\n"),
              ElementsAre("cmd=get_result rc=0 msg=success value=(vector,(0,1,2))"));
  EXPECT_TRUE(ranks.engine().active());
  EXPECT_THAT(ranks.Send(1, "cmd=finalize\n"), ElementsAre("cmd=finalize_ack"));
  EXPECT_FALSE(ranks.engine().active());
}

TEST(EngineTest, ReadsCommandsThatComeInPieces) {
  Ranks ranks(1);
  EXPECT_THAT(ranks.Send(0, "cmd=init pmi_ver"), IsEmpty());
  EXPECT_THAT(ranks.Send(0, "sion=1\ncmd=get_app"),
              ElementsAre("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"));
  EXPECT_THAT(ranks.Send(0, "num\n"), ElementsAre("cmd=appnum appnum=0"));
}

TEST(EngineTest, ValuesComeBackAsTheyWerePut) {
  Ranks ranks(2);
  ranks.InitAll(2);
  EXPECT_THAT(ranks.Send(0, "cmd=put kvsname=kvs_1 key=k value=a\\ b=c#$\n"),
              ElementsAre("cmd=put_result rc=0 msg=success"));
  EXPECT_THAT(ranks.Send(1, "cmd=get kvsname=kvs_1 key=k\n"),
              ElementsAre("cmd=get_result rc=0 msg=success value=a\\ b=c#$"));
  EXPECT_THAT(ranks.Send(1, "cmd=get kvsname=kvs_1 key=none\n"),
              ElementsAre("cmd=get_result rc=-1 msg=key_none_not_found value=unknown"));
}

TEST(EngineTest, LimitsWhatARankPuts) {
  Ranks ranks(1);
  ranks.InitAll(1);
  const auto put = [&](int key, int value) {
    return ranks.Send(0, absl::StrCat("cmd=put key=", std::string(key, 'k'),
                                      " value=", std::string(value, 'v'), "\n"));
  };
  EXPECT_THAT(put(63, 1023), ElementsAre(StartsWith("cmd=put_result rc=0")));
  EXPECT_THAT(put(64, 1), ElementsAre("cmd=put_result rc=-1 msg=the_key_has_64_bytes,_at_most_63"));
  EXPECT_THAT(put(1, 1024), ElementsAre(StartsWith("cmd=put_result rc=-1")));
  std::string last;
  for (size_t put_bytes = 0; put_bytes <= Engine::kMaxBytesPerRank; put_bytes += 1001) {
    last = put(1, 1000)[0];
  }
  EXPECT_THAT(last, StartsWith("cmd=put_result rc=-1 msg=the_rank_has_put_more_than"));
}

TEST(EngineTest, ABarrierEndsWhenAllHaveArrivedAndTheNodesHaveMet) {
  Ranks ranks(2);
  ranks.InitAll(2);
  ranks.holds = true;
  ranks.Send(0, "cmd=put key=k value=v\n");
  EXPECT_THAT(ranks.Send(0, "cmd=barrier_in\n"), IsEmpty());
  const Effects effects = ranks.engine().Receive(1, "cmd=barrier_in\n", kStart);
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_EQ(std::get<BeginExchange>(effects[0]).puts, (Values{{"k", "v"}}));
  const Effects ended = ranks.engine().Exchanged(Values{{"other", "far"}});
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(std::get<Reply>(ended[1]).line, "cmd=barrier_out");
  EXPECT_THAT(ranks.Send(0, "cmd=get key=other\n"),
              ElementsAre("cmd=get_result rc=0 msg=success value=far"));
  ranks.holds = false;
  ranks.Send(0, "cmd=barrier_in\n");  // the next barrier
  EXPECT_THAT(ranks.Send(1, "cmd=barrier_in\n"), ElementsAre("cmd=barrier_out"));
  EXPECT_THAT(ranks.others(), ElementsAre("cmd=barrier_out"));
}

TEST(EngineTest, AFailedExchangeExpelsTheRanksThatWait) {
  Ranks ranks(1);
  ranks.InitAll(1);
  ranks.holds = true;
  ranks.Send(0, "cmd=barrier_in\n");
  const Effects effects = ranks.engine().Exchanged(absl::AbortedError("node n1 is lost"));
  ASSERT_EQ(effects.size(), 2u);
  EXPECT_THAT(std::get<Announce>(std::get<MpiEffect>(effects[0])).text,
              HasSubstr("node n1 is lost"));
  EXPECT_TRUE(std::holds_alternative<Expel>(std::get<MpiEffect>(effects[1])));
}

TEST(EngineTest, AStuckBarrierIsAnnouncedWithTheMissingRanks) {
  Ranks ranks(4);
  for (const int rank : {0, 1, 3}) ranks.Send(rank, kInit);
  for (const int rank : {0, 3}) ranks.Send(rank, "cmd=barrier_in\n");
  EXPECT_EQ(ranks.engine().next_warning(), kStart + MpiRanks::kFirstWarning);
  EXPECT_EQ(ranks.Warning(kStart + absl::Seconds(9)), "");
  EXPECT_EQ(ranks.Warning(kStart + absl::Seconds(10)),
            "ranks 0,3 (node n0) have waited 10s in a barrier of MPI for rank 2, which has not "
            "called MPI_Init(), and for rank 1, in MPI but not there");
  EXPECT_EQ(ranks.engine().next_warning(), kStart + absl::Seconds(20));
  ranks.Send(2, kInit);
  ranks.Send(1, "cmd=barrier_in\n");
  ranks.Send(2, "cmd=barrier_in\n");
  EXPECT_EQ(ranks.engine().next_warning(), absl::InfiniteFuture());
}

TEST(EngineTest, AnEndInMpiIsAFault) {
  Ranks ranks(3);
  EXPECT_FALSE(ranks.engine().Ended(2, kKilled));
  ranks.InitAll(2);
  EXPECT_EQ(ranks.engine().Ended(0, kKilled)->text, "before MPI_Finalize()");
  ranks.Send(1, "cmd=finalize\n");
  EXPECT_FALSE(ranks.engine().Ended(1, kClean));
}

TEST(EngineTest, ARankThatEndedBeforeABarrierIsBlamed) {
  Ranks ranks(2);
  ranks.InitAll(2);
  ranks.Send(1, "cmd=finalize\n");
  EXPECT_FALSE(ranks.engine().Ended(1, kClean));
  EXPECT_THAT(ranks.Send(0, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_EQ(ranks.said(), "without the barrier in which rank 0 waits for it");
}

TEST(EngineTest, ARankThatEndsAfterItsLastCallWhileOthersAreInABarrierIsBlamed) {
  Ranks ranks(3);
  ranks.InitAll(3);
  for (const int rank : {0, 2}) ranks.Send(rank, "cmd=barrier_in\n");
  ranks.Send(1, "cmd=finalize\n");
  EXPECT_EQ(ranks.engine().Ended(1, kClean)->text,
            "without the barrier in which ranks 0,2 wait for it");
}

// MPICH 5 waits in the node's shared memory, and not in a barrier.
TEST(EngineTest, ARankThatEndedWithoutInitIsBlamedByTheNextInit) {
  Ranks ranks(2);
  EXPECT_FALSE(ranks.engine().Ended(1, kClean));
  ranks.Send(0, kInit);
  EXPECT_EQ(ranks.said(), "without MPI_Init(), in which rank 0 waits for it");
}

TEST(EngineTest, ARankThatEndsWhileOthersAreInInitIsBlamed) {
  Ranks ranks(3);
  ranks.Send(0, kInit);
  ranks.Send(2, kInit);
  EXPECT_EQ(ranks.engine().Ended(1, kClean)->text,
            "before MPI_Init(), in which ranks 0,2 of the job waited for it");
}

TEST(EngineTest, AnInitThatOthersDoNotCallIsAnnounced) {
  Ranks ranks(3);
  ranks.Send(0, kInit);
  ranks.Send(2, kInit, kStart + absl::Seconds(5));
  EXPECT_EQ(ranks.engine().next_warning(), kStart + MpiRanks::kFirstWarning);
  EXPECT_EQ(
      ranks.Warning(kStart + absl::Seconds(10)),
      "ranks 0,2 (node n0) have waited 10s in MPI_Init() for rank 1, which has not called it");
  EXPECT_EQ(ranks.engine().next_warning(), kStart + absl::Seconds(20));
  ranks.Send(1, kInit);
  EXPECT_EQ(ranks.engine().next_warning(), absl::InfiniteFuture());
}

TEST(EngineTest, RestartedRanksWaitForNobody) {
  Ranks ranks(2);
  ranks.Send(0, kInit);
  ranks.engine().Started(0);
  EXPECT_EQ(ranks.Warning(kStart + absl::Seconds(10)), "");
  EXPECT_EQ(ranks.engine().next_warning(), absl::InfiniteFuture());
}

TEST(EngineTest, ARankThatEndsDuringABarrierIsBlamed) {
  Ranks ranks(2);
  ranks.Send(0, kInit);
  ranks.Send(0, "cmd=barrier_in\n");
  EXPECT_EQ(ranks.engine().Ended(1, kClean)->text,
            "before MPI_Init(), in which rank 0 of the job waited for it");
}

TEST(EngineTest, ANewProcessBeginsAfresh) {
  Ranks ranks(2);
  ranks.engine().Ended(1, kKilled);
  ranks.engine().Started(1);
  EXPECT_FALSE(ranks.engine().HasJoined(1));
  ranks.InitAll(2);
  ranks.Send(0, "cmd=barrier_in\n");
  EXPECT_THAT(ranks.Send(1, "cmd=barrier_in\n"), ElementsAre("cmd=barrier_out"));
}

TEST(EngineTest, AnAbortHasCodeAndText) {
  Ranks ranks(2);
  ranks.InitAll(2);
  EXPECT_THAT(ranks.Send(1, "cmd=abort exitcode=5 message=bad\\ input\n"), ElementsAre("(closed)"));
  const std::optional<MpiFault> fault = ranks.engine().Ended(1, {false, 5});
  EXPECT_EQ(fault->text, "called MPI_Abort(5): bad input");
  EXPECT_EQ(fault->code, 5);
}

TEST(EngineTest, SpawnIsRefusedOnceForAllItsCommands) {
  Ranks ranks(1);
  ranks.InitAll(1);
  constexpr char kFirst[] =
      "mcmd=spawn\nnprocs=1\nexecname=a\ntotspawns=2\nspawnssofar=1\nargcnt=1\narg1=cmd=abort\n"
      "preput_num=0\ninfo_num=0\nendcmd\n";
  EXPECT_THAT(ranks.Send(0, kFirst), IsEmpty());
  EXPECT_THAT(
      ranks.Send(0, "mcmd=spawn\nnprocs=1\nexecname=b\ntotspawns=2\nspawnssofar=2\nendcmd\n"),
      ElementsAre("cmd=spawn_result rc=-1 msg=not_offered_by_muster_run"));
  EXPECT_THAT(ranks.said(), StartsWith("rank 0 (node n0) asks for MPI_Comm_spawn()"));
  EXPECT_THAT(ranks.Send(0, "cmd=get_appnum\n"), ElementsAre("cmd=appnum appnum=0"));
}

// With the smallest number there is, a sanitizer finds what else would not be seen.
TEST(EngineTest, ASpawnOfFewerThanNoCommandsIsRefusedAtOnce) {
  Ranks ranks(1);
  ranks.InitAll(1);
  EXPECT_THAT(ranks.Send(0, "mcmd=spawn\ntotspawns=-2147483648\nendcmd\n"),
              ElementsAre("cmd=spawn_result rc=-1 msg=not_offered_by_muster_run"));
}

TEST(EngineTest, OtherVersionsAreRefused) {
  Ranks ranks(1);
  EXPECT_THAT(
      ranks.Send(0, "cmd=init pmi_version=2 pmi_subversion=0\n"),
      ElementsAre("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1 msg=PMI-1_only"));
  EXPECT_THAT(ranks.said(), HasSubstr("its MPI speaks PMI-2"));
  EXPECT_THAT(ranks.Send(0, "cmd=abort exitcode=-1\n"), ElementsAre("(closed)"));
  EXPECT_EQ(ranks.engine().Ended(0, {false, 255})->text,
            "could not run, because its MPI_Init() was refused");
}

TEST(EngineTest, UnknownCommandsAreAnswered) {
  Ranks ranks(1);
  ranks.InitAll(1);
  EXPECT_THAT(ranks.Send(0, "cmd=lookup_name service=s\n"),
              ElementsAre("cmd=lookup_result rc=-1 msg=not_offered_by_muster_run"));
  EXPECT_THAT(ranks.Send(0, "cmd=mput\n"), ElementsAre(StartsWith("cmd=mput rc=-1")));
}

TEST(EngineTest, ABrokenLineExpelsItsRank) {
  for (const std::string& line :
       {std::string("hello"), std::string("cmd="), std::string("=x"), std::string("cmd=put key=k"),
        std::string("cmd=put key= value=v"), std::string("cmd=get"),
        std::string("cmd=get key=a\0b", 15), std::string(5000, 'x'), std::string("")}) {
    Ranks ranks(1);
    ranks.InitAll(1);
    EXPECT_THAT(ranks.Send(0, line + "\n"), ElementsAre("(closed)")) << line;
    EXPECT_THAT(ranks.Send(0, "cmd=get_appnum\n"), IsEmpty());
    EXPECT_THAT(ranks.engine().Ended(0, kKilled)->text,
                StartsWith("after it sent to PMI_FD what is not PMI-1: "));
  }
  Ranks ranks(1);
  EXPECT_THAT(ranks.Send(0, "cmd=barrier_in\n"), ElementsAre("(closed)"));
}

TEST(EngineTest, RanksThatHaveNotCalledInitHaveNotLeft) {
  Ranks ranks(2);
  EXPECT_FALSE(ranks.engine().AllHaveLeft());
  ranks.Send(0, kInit);
  ranks.Send(0, "cmd=finalize\n");
  EXPECT_FALSE(ranks.engine().active());
  EXPECT_FALSE(ranks.engine().AllHaveLeft());
  ranks.Send(1, kInit);
  ranks.Send(1, "cmd=finalize\n");
  EXPECT_TRUE(ranks.engine().AllHaveLeft());
}

// ---- Several nodes ----

// The first of two nodes, each with two ranks.
World FirstOfTwo() { return {0, 2, 4, "n0", "", "(vector,(0,2,2))"}; }

TEST(EngineTest, TheNameOfAWorldWaitsForAllNodes) {
  Engine engine(FirstOfTwo());
  engine.Receive(0, kInit, kStart);
  engine.Receive(1, kInit, kStart);
  EXPECT_THAT(engine.Receive(0, "cmd=get_my_kvsname\n", kStart), IsEmpty());
  EXPECT_EQ(engine.next_warning(), kStart + MpiRanks::kFirstWarning);
  const Effects warned = engine.Warn(kStart + absl::Seconds(10), "rank 2 (node n1)");
  EXPECT_EQ(std::get<Announce>(std::get<MpiEffect>(warned.at(0))).text,
            "ranks 0-1 (node n0) have waited 10s in MPI_Init() for rank 2 (node n1)");
  const Effects named = engine.NameWorld("kvs_7");
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(std::get<Reply>(named[0]).line, "cmd=my_kvsname kvsname=kvs_7");
  EXPECT_EQ(engine.Receive(1, "cmd=get_my_kvsname\n", kStart).size(), 1u);
  EXPECT_EQ(engine.next_warning(), absl::InfiniteFuture());
}

TEST(EngineTest, AStuckBarrierNamesRanksOfOtherNodes) {
  Engine engine(FirstOfTwo());
  engine.NameWorld("kvs_7");
  for (const int rank : {0, 1}) engine.Receive(rank, kInit, kStart);
  for (const int rank : {0, 1}) engine.Receive(rank, "cmd=barrier_in\n", kStart);
  EXPECT_EQ(engine.DescribeMissing(), "");
  const Effects warned =
      engine.Warn(kStart + absl::Seconds(10), "rank 2 (node n1), in MPI but not there");
  EXPECT_EQ(std::get<Announce>(std::get<MpiEffect>(warned.at(0))).text,
            "ranks 0-1 (node n0) have waited 10s in a barrier of MPI for rank 2 (node n1), in MPI "
            "but not there");
}

TEST(EngineTest, OtherNodesAreToldForWhichRanksTheyWait) {
  Engine engine(FirstOfTwo());
  engine.Receive(0, kInit, kStart);
  EXPECT_EQ(engine.DescribeMissing(),
            "rank 1 (node n0), which has not called MPI_Init(), and for rank 0 (node n0), in MPI "
            "but not there");
}

TEST(EngineTest, AWorldThatCannotGoOnExpelsItsRanks) {
  Engine engine(FirstOfTwo());
  engine.Receive(0, kInit, kStart);
  const Effects effects = engine.Fail("node n1 was started again");
  ASSERT_EQ(effects.size(), 2u);
  EXPECT_EQ(std::get<Announce>(std::get<MpiEffect>(effects[0])).text,
            "MPI cannot go on on node n0: node n1 was started again");
  EXPECT_EQ(std::get<Expel>(std::get<MpiEffect>(effects[1])).local_rank, 0);
  EXPECT_EQ(engine.Ended(0, kKilled)->text, "after MPI had failed between the nodes");
}

TEST(ValuesTest, ComeBackFromTheirBytes) {
  const Values values = {{"a", "b=\\ c"}, {"empty", ""}, {"k=", "v"}};
  Values parsed = {{"own", "1"}};
  ParseValues(SerializeValues(values), &parsed);
  EXPECT_EQ(parsed.size(), 4u);
  EXPECT_EQ(parsed["a"], "b=\\ c");
  EXPECT_EQ(parsed["empty"], "");
  EXPECT_EQ(parsed["k="], "v");
}

// Random commands from all ranks, some of them spoilt. What must hold: answers are single lines of
// a length that clients read, a rank in a barrier is answered nothing until all have arrived, and
// an expelled rank is answered nothing.
TEST(EngineTest, RandomBytesBreakNoPromise) {
  const char* const kLines[] = {"cmd=init pmi_version=1 pmi_subversion=1\n",
                                "cmd=init pmi_version=2 pmi_subversion=0\n",
                                "cmd=put kvsname=k key=a value=b\\ c\n",
                                "cmd=get key=a\n",
                                "cmd=barrier_in\n",
                                "cmd=barrier_in\n",
                                "cmd=finalize\n",
                                "cmd=get_maxes\n",
                                "mcmd=spawn\ntotspawns=2\nendcmd\n",
                                "cmd=abort exitcode=3\n",
                                "cmd=unknown a=b\n"};
  constexpr int kSize = 3;
  for (int seed = 1; seed <= 2000; ++seed) {
    std::mt19937 random(seed);
    Engine engine({0, kSize, kSize, "n0", "kvs", "(vector,(0,1,3))"});
    bool expelled[kSize] = {};
    for (int step = 0; step < 60; ++step) {
      const int rank = static_cast<int>(random() % kSize);
      std::string bytes = kLines[random() % std::size(kLines)];
      if (random() % 20 == 0) bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
      if (random() % 20 == 0) bytes.resize(random() % bytes.size());
      if (random() % 200 == 0) bytes.append(5000, 'y');
      Effects effects = engine.Receive(rank, bytes, kStart);
      for (size_t i = 0; i < effects.size(); ++i) {
        const Effect effect = effects[i];
        if (std::holds_alternative<BeginExchange>(effect)) {
          for (const Effect& next : engine.Exchanged(Values())) effects.push_back(next);
        } else if (const auto* reply = std::get_if<Reply>(&effect)) {
          ASSERT_EQ(reply->line.find('\n'), std::string::npos) << seed;
          ASSERT_LT(reply->line.size(), 2 * kMaxValueLength + 100u) << seed;
          ASSERT_THAT(reply->line, StartsWith("cmd=")) << seed;
        } else if (const auto* expel = std::get_if<Expel>(&std::get<MpiEffect>(effect))) {
          ASSERT_FALSE(std::exchange(expelled[expel->local_rank], true)) << seed;
        }
      }
      if (random() % 30 == 0) {
        engine.Ended(rank, random() % 2 == 0 ? kClean : kKilled);
        engine.Started(rank);
        expelled[rank] = false;
      }
    }
  }
}

TEST(ProcessMappingTest, GroupsNodesOfTheSameSize) {
  EXPECT_EQ(ProcessMapping({4}), "(vector,(0,1,4))");
  EXPECT_EQ(ProcessMapping({4, 4, 3}), "(vector,(0,2,4),(2,1,3))");
  EXPECT_EQ(ProcessMapping({1, 2, 1}), "(vector,(0,1,1),(1,1,2),(2,1,1))");
}

}  // namespace
}  // namespace muster::launcher::pmi
