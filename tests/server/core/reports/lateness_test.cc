// Stragglers: which rank is late, for which operation, how often and by how much. Also the early
// warning of an unusually long wait.

#include "server/core/statistics/lateness.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Matches durations within the precision of the histogram, whose buckets are half octaves.
MATCHER_P(Near, duration, "") { return arg > duration * 0.8 && arg < duration * 1.25; }

// Makes `count` barriers. In each one, the ranks arrive in order, `delay` apart, and the last rank
// arrives `last_delay` late.
void DoBarriers(Harness& h, std::vector<Process>& processes, int count, absl::Duration last_delay,
                const std::string& label = "step", absl::Duration delay = absl::ZeroDuration()) {
  for (int i = 0; i < count; ++i) {
    for (Process& process : processes) {
      h.Advance(&process == &processes.back() ? last_delay : delay);
      h.Barrier(process, label);
    }
  }
}

std::vector<Straggler> Stragglers(Harness& h) {
  return h.coordinator().GetStatus(h.now()).stragglers;
}

std::vector<std::string> LogOf(const Harness& h) {
  std::vector<std::string> log;
  for (const LogLine& line : h.log()) log.push_back(line.text);
  return log;
}

TEST(LatenessTest, TheRankThatOthersWaitForIsNamedWithHowOftenAndHowLong) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  DoBarriers(h, p, 100, absl::Milliseconds(120));
  ASSERT_THAT(Stragglers(h), SizeIs(1));
  const Straggler straggler = Stragglers(h)[0];
  EXPECT_EQ(straggler.rank, 3u);
  EXPECT_EQ(straggler.operation, "Barrier('step') of the world");
  EXPECT_EQ(straggler.collectives, 100u);
  EXPECT_EQ(straggler.last, 100u);
  EXPECT_THAT(straggler.median, Near(absl::Milliseconds(120)));
  EXPECT_THAT(straggler.p95, Near(absl::Milliseconds(120)));
  EXPECT_EQ(straggler.waited_for, absl::Seconds(12));
}

TEST(LatenessTest, ARankThatIsLastByChanceIsNotNamed) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  for (int i = 0; i < 100; ++i) {
    std::rotate(p.begin(), p.begin() + 1, p.end());
    DoBarriers(h, p, 1, absl::Milliseconds(50));
  }
  EXPECT_THAT(Stragglers(h), IsEmpty());
}

TEST(LatenessTest, TheLaterOfTwoRanksIsNamed) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  DoBarriers(h, p, 20, absl::Milliseconds(30));
  ASSERT_THAT(Stragglers(h), SizeIs(1));
  EXPECT_EQ(Stragglers(h)[0].rank, 1u);
  EXPECT_THAT(Stragglers(h)[0].median, Near(absl::Milliseconds(30)));
}

TEST(LatenessTest, FewCollectivesAndShortWaitsAreNotReported) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  DoBarriers(h, p, 9, absl::Seconds(1), "rare");
  DoBarriers(h, p, 100, absl::Microseconds(900), "short");
  EXPECT_THAT(Stragglers(h), IsEmpty());
}

TEST(LatenessTest, LabelsThatCountAreOneOperation) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  for (int step = 0; step < 40; ++step) {
    DoBarriers(h, p, 1, absl::Milliseconds(10), "step " + std::to_string(step) + " of 40");
  }
  ASSERT_THAT(Stragglers(h), SizeIs(1));
  EXPECT_EQ(Stragglers(h)[0].operation, "Barrier('step # of #') of the world");
  EXPECT_EQ(Stragglers(h)[0].collectives, 40u);
}

TEST(LatenessTest, TheWorstComesFirst) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  DoBarriers(h, p, 50, absl::Milliseconds(10), "a");
  DoBarriers(h, p, 50, absl::Milliseconds(40), "b");
  ASSERT_THAT(Stragglers(h), SizeIs(2));
  EXPECT_EQ(Stragglers(h)[0].operation, "Barrier('b') of the world");
}

TEST(LatenessTest, OldCollectivesAreForgotten) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  DoBarriers(h, p, 1000, absl::Milliseconds(10));
  std::swap(p.front(), p.back());
  DoBarriers(h, p, 3000, absl::Milliseconds(10));
  ASSERT_THAT(Stragglers(h), SizeIs(1));
  EXPECT_EQ(Stragglers(h)[0].rank, 0u);
  EXPECT_LE(Stragglers(h)[0].collectives, 2048u);
  EXPECT_EQ(Stragglers(h)[0].last, Stragglers(h)[0].collectives);
}

TEST(LatenessTest, ManyOperationsTakeBoundedMemory) {
  Tally tally;
  LatenessStats stats(&tally);
  const std::string world = "the world";
  const std::string name;
  const std::vector<uint32_t> ranks = {0, 1};
  const Time start = absl::UnixEpoch();
  const auto note = [&](const std::string& label) {
    Operation operation;
    operation.label = label;
    stats.Note({world, name}, operation, ranks,
               {{start, start + absl::Seconds(1)}, 1, start + absl::Seconds(1)});
  };
  for (int i = 0; i < 20; ++i) note("kept");
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) {
      for (int i = 0; i < 20; ++i) note(std::string{a, b});
      note("kept");
    }
  }
  EXPECT_THAT(stats.Worst(1000), SizeIs(64));
  EXPECT_THAT(stats.Worst(1000),
              Contains(Field(&Straggler::operation, "Barrier('kept') of the world")));
  EXPECT_THAT(stats.Worst(3), SizeIs(3));
}

// Members choose the names of groups and the labels of operations, and texts list only some ranks.
// So two groups may have the same text, and each must still have its own history.
TEST(LatenessTest, GroupsThatAreDescribedAlikeHaveHistoriesOfTheirOwn) {
  Tally tally;
  LatenessStats stats(&tally);
  const std::string words = "group 'g' (ranks 0,2,4,...)";
  const std::string name = "g";
  const Operation operation;
  const auto note = [&](uint32_t size, uint32_t last) {
    std::vector<uint32_t> ranks(size);
    for (uint32_t i = 0; i < size; ++i) ranks[i] = 2 * i;
    std::vector<Time> arrivals(size, absl::UnixEpoch());
    arrivals[last] += absl::Seconds(1);
    stats.Note({words, name}, operation, ranks, {arrivals, last, arrivals[last]});
  };
  for (int i = 0; i < 20; ++i) {
    note(3, 1);
    note(4000, 3999);
  }
  const std::vector<Straggler> worst = stats.Worst(10);
  ASSERT_THAT(worst, SizeIs(2));
  EXPECT_THAT(worst, Each(Field(&Straggler::collectives, 20u)));
  EXPECT_THAT(worst, Contains(Field(&Straggler::rank, 2u)));
  EXPECT_THAT(worst, Contains(Field(&Straggler::rank, 7998u)));
}

// Rank 0 comes first, stops waiting, and comes back last. Rank 2 was the late one.
TEST(LatenessTest, TheLastRetryIsNotTheLastArrival) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  for (int i = 0; i < 20; ++i) {
    const uint64_t sequence = i;
    h.Cancel(h.SendAt(p[0], sequence, CollectiveKind::kBarrier));
    h.SendAt(p[1], sequence, CollectiveKind::kBarrier);
    h.Advance(absl::Milliseconds(100));
    h.SendAt(p[2], sequence, CollectiveKind::kBarrier);
    h.Advance(absl::Milliseconds(300));
    h.SendAt(p[0], sequence, CollectiveKind::kBarrier);
  }
  ASSERT_THAT(Stragglers(h), SizeIs(1));
  EXPECT_EQ(Stragglers(h)[0].rank, 2u);
  EXPECT_EQ(Stragglers(h)[0].last, 20u);
  EXPECT_EQ(Stragglers(h)[0].waited_for, absl::Seconds(2));
}

TEST(LatenessTest, ARetryCountsFromItsFirstArrival) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  DoBarriers(h, p, 20, absl::Milliseconds(10));
  // Rank 0 comes first, gives up, and comes again last.
  for (int i = 0; i < 10; ++i) {
    const uint64_t sequence = p[0].next[""]++;
    h.Cancel(h.SendAt(p[0], sequence, CollectiveKind::kGather));
    h.Advance(absl::Milliseconds(100));
    for (Process* process : {&p[1], &p[2], &p[0]}) {
      h.SendAt(*process, sequence, CollectiveKind::kGather);
    }
    p[1].next[""] = p[2].next[""] = sequence + 1;
  }
  for (const Straggler& straggler : Stragglers(h)) {
    EXPECT_NE(straggler.rank, 0u) << straggler.operation;
  }
}

TEST(LatenessTest, TheSenderOfANodeIsItsLastArrival) {
  Harness h(5);
  std::vector<Process> p = h.Formed(5);
  for (int i = 0; i < 50; ++i) {
    for (const int rank : {0, 3, 4}) h.Barrier(p[rank], "step");
    h.Advance(absl::Milliseconds(20));
    std::vector<CollectiveRequest> calls;
    for (const int rank : {1, 2}) {
      calls.push_back(h.Request(p[rank], CollectiveKind::kBarrier));
      calls.back().label = "step";
    }
    h.Send(Harness::Together(calls));
  }
  ASSERT_THAT(Stragglers(h), SizeIs(1));
  EXPECT_EQ(Stragglers(h)[0].rank, 1u);
}

TEST(LatenessTest, StragglersAreLoggedAtTheEndOfTheJob) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  DoBarriers(h, p, 100, absl::Milliseconds(120));
  for (Process& process : p) h.Leave(process);
  EXPECT_THAT(LogOf(h),
              Contains(AllOf(HasSubstr("rank 3 (node 'n0'"),
                             HasSubstr("was last in 100% of 100 Barrier('step') of the world"),
                             HasSubstr("they waited 12s for it"))));
}

TEST(LatenessTest, AJobWithoutStragglersLogsNone) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  DoBarriers(h, p, 100, absl::Milliseconds(2));  // 0.2 s in total
  for (Process& process : p) h.Leave(process);
  EXPECT_THAT(LogOf(h), Each(Not(HasSubstr("was last in"))));
}

std::vector<StillWaiting> StillWaitingEvents(const Harness& h, const Process& p) {
  return h.Events<StillWaiting>(p.stream);
}

TEST(LatenessTest, AnUnusualWaitIsReportedEarlyAndAtTheWarningTime) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  DoBarriers(h, p, 20, absl::Milliseconds(100));
  h.Barrier(p[0], "step", absl::Hours(1));
  h.Barrier(p[1], "step", absl::Hours(1));
  h.Advance(absl::Milliseconds(1900));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), IsEmpty());
  h.Advance(absl::Milliseconds(100));
  ASSERT_THAT(StillWaitingEvents(h, p[0]), SizeIs(1));
  EXPECT_THAT(
      StillWaitingEvents(h, p[0])[0].text,
      AllOf(HasSubstr("Barrier('step') op 20 of the world has waited 2s, the slowest before 0.1s"),
            HasSubstr("; missing 1 of 3: rank 2")));
  h.Advance(absl::Milliseconds(7999));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), SizeIs(1));
  h.Advance(absl::Milliseconds(1));  // --stall-warning
  EXPECT_THAT(StillWaitingEvents(h, p[0]), SizeIs(2));
  h.Advance(absl::Seconds(10));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), SizeIs(3));
}

TEST(LatenessTest, AnOperationThatIsUsuallySlowIsNotReportedEarly) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  DoBarriers(h, p, 20, absl::Seconds(3), "checkpoint");
  const size_t before = StillWaitingEvents(h, p[0]).size();
  h.Barrier(p[0], "checkpoint", absl::Hours(1));
  h.Advance(absl::Milliseconds(9999));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), SizeIs(before));
  h.Advance(absl::Milliseconds(1));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), SizeIs(before + 1));
}

TEST(LatenessTest, AnotherOperationHasAHistoryOfItsOwn) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  DoBarriers(h, p, 20, absl::Milliseconds(1));
  h.Barrier(p[0], "evaluation", absl::Hours(1));
  h.Advance(absl::Milliseconds(9999));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), IsEmpty());
}

TEST(LatenessTest, WithoutWarningsThereAreNoEarlyOnesEither) {
  core::Options options = Harness::DefaultOptions(3);
  options.stall_warning = absl::ZeroDuration();
  Harness h(options);
  std::vector<Process> p = h.Formed(3);
  DoBarriers(h, p, 20, absl::Milliseconds(1));
  h.Barrier(p[0], "step", absl::Hours(1));
  h.Advance(absl::Minutes(10));
  EXPECT_THAT(StillWaitingEvents(h, p[0]), IsEmpty());
}

}  // namespace
}  // namespace muster::core
