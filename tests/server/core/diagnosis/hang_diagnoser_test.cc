// Inquiries: when they begin and end, which reports are accepted, and what is kept.

#include "server/core/diagnosis/hang_diagnoser.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

LauncherIdentity Launcher(const std::string& node, std::vector<Incarnation> processes = {}) {
  return {"launcher of " + node, node, 7, std::move(processes)};
}

class HangDiagnoserTest : public ::testing::Test {
 protected:
  explicit HangDiagnoserTest(uint32_t size = 2, bool formed = true)
      : h_(size), p_(formed ? h_.Formed(size) : std::vector<Process>()) {}

  // Returns the launcher of rank 0 for "n0", and of rank 1 for "n1". Other numbers are strangers.
  LauncherIdentity OfTheJob(const std::string& node) const {
    const size_t rank = std::stoul(node.substr(1));
    if (rank >= p_.size()) return Launcher(node);
    return Launcher(node, {p_[rank].identity.incarnation});
  }
  // Begins the query that a launcher always has open, to wait for work.
  WaiterId Watch(const std::string& node, uint64_t after = 0) {
    return Ask({"train", after, absl::Minutes(1), OfTheJob(node)});
  }
  WaiterId Ask(const InquiryQuery& query) {
    const WaiterId id = h_.NextId();
    return h_.Absorb(id, diagnoser_.Step(h_.now(), id, query, h_.coordinator()));
  }
  WaiterId Request() {
    const WaiterId id = h_.NextId();
    return h_.Absorb(id,
                     diagnoser_.Step(h_.now(), id, InquiryRequest{"train", ""}, h_.coordinator()));
  }
  absl::Status Report(const std::string& node, uint64_t number, std::vector<RankObservation> ranks,
                      std::vector<BundleFile> files = {}, bool complete = true) {
    return Send({"train", number, {OfTheJob(node), ranks, files, complete}});
  }
  absl::Status Send(const InquiryReport& report) {
    const WaiterId id = h_.NextId();
    return h_.StatusOf(h_.Absorb(id, diagnoser_.Step(h_.now(), id, report, h_.coordinator())));
  }
  InquiryStatus StatusIn(WaiterId id) const { return *AnswerTo(id).status; }
  const InquiryAnswer& AnswerTo(WaiterId id) const {
    return std::get<InquiryAnswer>(h_.ReplyTo(id).answer);
  }
  // Returns the job as `muster status` shows it.
  JobStatus Shown() {
    JobStatus status = h_.coordinator().GetStatus(h_.now());
    diagnoser_.AddTo(h_.now(), &status);
    return status;
  }
  InquiryStatus Latest() { return StatusIn(Ask({"train"})); }

  RankObservation StoppedRank(int rank) const {
    RankObservation seen;
    seen.incarnation = p_[rank].identity.incarnation;
    seen.condition = ProcessCondition::kStopped;
    return seen;
  }
  std::vector<std::string> Verdicts() const {
    std::vector<std::string> verdicts;
    for (const LogLine& line : h_.log()) {
      if (line.text.find("verdict: ") != std::string::npos) verdicts.push_back(line.text);
    }
    return verdicts;
  }
  // Makes rank 0 wait until the stall is announced.
  void Stall() {
    h_.Barrier(p_[0], "x", absl::Hours(1));
    Advance(absl::Seconds(10));
  }
  // Moves the time of the coordinator and of the diagnoser on.
  void Advance(absl::Duration duration) {
    const Time end = h_.now() + duration;
    while (h_.now() < end) {
      const Time next = std::min({h_.coordinator().NextDeadline(), diagnoser_.NextDeadline(), end});
      h_.Advance(next - h_.now());
      for (const InquiryCause& cause : h_.TakeInquiryCauses()) {
        h_.Absorb(0, diagnoser_.Begin(h_.now(), cause));
      }
      h_.Absorb(0, diagnoser_.Tick(h_.now()));
    }
  }

  Harness h_;
  std::vector<Process> p_;
  HangDiagnoser diagnoser_{h_.coordinator().options()};
};

class LargeHangDiagnosisTest : public HangDiagnoserTest {
 protected:
  LargeHangDiagnosisTest() : HangDiagnoserTest(32) {}
};

class FormingHangDiagnosisTest : public HangDiagnoserTest {
 protected:
  FormingHangDiagnosisTest() : HangDiagnoserTest(2, /*formed=*/false) {}
};

TEST_F(HangDiagnoserTest, AStallWakesTheLaunchersAndTheirReportsMakeTheVerdict) {
  const WaiterId watch = Watch("n0");
  EXPECT_TRUE(h_.Parked(watch));
  Stall();
  ASSERT_FALSE(h_.Parked(watch));
  const InquiryStatus begun = StatusIn(watch);
  EXPECT_THAT(begun.reason, HasSubstr("Barrier('x') op 0 of the world has waited 10s"));
  EXPECT_TRUE(begun.open);
  EXPECT_FALSE(begun.wants_files) << "nobody has asked for them";
  EXPECT_THAT(begun.awaited_nodes, ElementsAre("n0"));
  EXPECT_THAT(Verdicts(), IsEmpty());
  ASSERT_TRUE(Report("n0", begun.number, {StoppedRank(1)}).ok());
  ASSERT_THAT(Verdicts(), SizeIs(1));
  EXPECT_THAT(Verdicts()[0], HasSubstr("rank 1 (node 'n0', host host-n0, pid 1002) has not come to "
                                       "Barrier('x') op 0 of the world: it is stopped"));
  const InquiryStatus ended = Latest();
  EXPECT_FALSE(ended.open);
  EXPECT_TRUE(ended.complete);
  EXPECT_EQ(ended.kind, "stopped");
  EXPECT_EQ(Shown().inquiry->verdict, ended.verdict);
  EXPECT_EQ(h_.coordinator().GetTimeline().back().text, "verdict: " + ended.verdict);
}

TEST_F(HangDiagnoserTest, TheStatusIsMadeOnlyWhenItIsNeeded) {
  bool wanted = false;
  Options options = Harness::DefaultOptions(2);
  options.wants_inquiry = [&wanted](Time, JobState) { return wanted; };
  Harness harness(options);
  std::vector<Process> job = harness.Formed(2);
  harness.Barrier(job[0], "x", absl::Hours(1));
  harness.Advance(absl::Seconds(10));
  EXPECT_THAT(harness.TakeInquiryCauses(), IsEmpty());
  wanted = true;
  harness.Advance(absl::Seconds(10));  // the next announcement
  EXPECT_THAT(harness.TakeInquiryCauses(), SizeIs(1));
}

TEST_F(HangDiagnoserTest, ReportsWhetherAnInquiryMayBegin) {
  EXPECT_FALSE(diagnoser_.MayBegin(h_.now(), JobState::kRunning)) << "there is no launcher";
  Watch("n0");
  EXPECT_TRUE(diagnoser_.MayBegin(h_.now(), JobState::kRunning));
  Stall();
  EXPECT_FALSE(diagnoser_.MayBegin(h_.now(), JobState::kRunning)) << "one is open";
}

TEST_F(HangDiagnoserTest, NoInquiryBeginsWithoutALauncher) {
  Stall();
  EXPECT_EQ(Latest().number, 0u);
  EXPECT_FALSE(Shown().inquiry.has_value());
}

TEST_F(HangDiagnoserTest, ATimeOutBeginsAnInquiryAboutTheEndedWait) {
  const WaiterId watch = Watch("n0");
  h_.Barrier(p_[0], "x", absl::Seconds(3));
  Advance(absl::Seconds(3));
  ASSERT_FALSE(h_.Parked(watch));
  EXPECT_THAT(StatusIn(watch).reason, HasSubstr("waited 3s; missing 1 of 2"));
  ASSERT_TRUE(Report("n0", StatusIn(watch).number, {StoppedRank(1)}).ok());
  EXPECT_THAT(Latest().verdict, HasSubstr("rank 1 "));
}

TEST_F(HangDiagnoserTest, AtMostOneAutomaticInquiryAMinute) {
  const WaiterId first = Watch("n0");
  Stall();
  const uint64_t number = StatusIn(first).number;
  ASSERT_TRUE(Report("n0", number, {}).ok());
  Watch("n0", number);
  Advance(absl::Seconds(30));  // announced after 20 s and after 40 s
  EXPECT_EQ(Latest().number, number);
  Advance(absl::Seconds(60));  // and after 80 s
  EXPECT_GT(Latest().number, number);
}

TEST_F(HangDiagnoserTest, ANewJobStateAllowsAnotherInquiry) {
  const WaiterId first = Watch("n0");
  Stall();
  ASSERT_TRUE(Report("n0", StatusIn(first).number, {}).ok());
  EXPECT_FALSE(diagnoser_.MayBegin(h_.now(), JobState::kReforming)) << "one has just begun";
  h_.Advance(absl::Seconds(2));
  EXPECT_FALSE(diagnoser_.MayBegin(h_.now(), JobState::kRunning));
  EXPECT_TRUE(diagnoser_.MayBegin(h_.now(), JobState::kReforming));
}

TEST_F(HangDiagnoserTest, ARequestBeginsAnInquiryUnlessOneIsOpenOrRecent) {
  Watch("n0");
  const uint64_t first = StatusIn(Request()).number;
  EXPECT_TRUE(Latest().wants_files);
  EXPECT_EQ(StatusIn(Request()).number, first);
  ASSERT_TRUE(Report("n0", first, {}).ok());
  Advance(absl::Milliseconds(1999));
  EXPECT_EQ(StatusIn(Request()).number, first);
  Advance(absl::Milliseconds(1));
  EXPECT_GT(StatusIn(Request()).number, first);
}

TEST_F(HangDiagnoserTest, ALauncherThatDoesNotReportIsWaitedForTenSeconds) {
  Watch("n0");
  Watch("n1");
  const uint64_t number = StatusIn(Request()).number;
  ASSERT_TRUE(Report("n0", number, {}).ok());
  Advance(absl::Milliseconds(9999));
  EXPECT_TRUE(Latest().open);
  Advance(absl::Milliseconds(1));
  EXPECT_FALSE(Latest().open);
  EXPECT_FALSE(Latest().complete);
  EXPECT_THAT(Latest().awaited_nodes, ElementsAre("n1"));
}

TEST_F(HangDiagnoserTest, ALauncherThatHasGoneIsNotWaitedForAnyMore) {
  diagnoser_.Cancel(h_.now(), Watch("n1"));
  Watch("n0");
  Advance(absl::Seconds(31));
  const uint64_t number = StatusIn(Request()).number;
  ASSERT_TRUE(Report("n0", number, {}).ok());
  EXPECT_FALSE(Latest().open);
}

TEST_F(HangDiagnoserTest, AQueryEndsAtItsTimeOrWhenItsLauncherAsksAgain) {
  const WaiterId first = Watch("n0");
  const WaiterId second = Watch("n0");
  EXPECT_EQ(h_.StatusOf(first).code(), absl::StatusCode::kCancelled);
  Advance(absl::Minutes(1));
  EXPECT_EQ(StatusIn(second).number, 0u);
}

TEST_F(HangDiagnoserTest, FilesAreGivenOutByLauncher) {
  Watch("n0");
  const uint64_t number = StatusIn(Request()).number;
  const auto text = std::make_shared<const std::string>("all threads");
  ASSERT_TRUE(Report("n0", number, {}, {{"rank-0/threads.txt", text}}).ok());
  InquiryQuery query = {"train"};
  query.files_of = Launcher("n0").id;
  const InquiryAnswer& answer = AnswerTo(Ask(query));
  ASSERT_THAT(answer.reports, SizeIs(1));
  ASSERT_NE(answer.files_of, nullptr);
  ASSERT_THAT(answer.files_of->files, SizeIs(1));
  EXPECT_EQ(answer.files_of->files[0].name, "rank-0/threads.txt");
  EXPECT_EQ(*answer.files_of->files[0].content, "all threads");
}

TEST_F(HangDiagnoserTest, ReportsGoToCallersThatWantThemAndNotToLaunchers) {
  const WaiterId launcher = Watch("n0");
  const uint64_t number = StatusIn(Request()).number;
  EXPECT_THAT(AnswerTo(launcher).reports, IsEmpty());
  ASSERT_TRUE(Report("n0", number, {StoppedRank(1)}).ok());
  EXPECT_THAT(AnswerTo(Ask({"train"})).reports, SizeIs(1));
  InquiryQuery query = {"train"};
  query.without_reports = true;
  const InquiryAnswer& without = AnswerTo(Ask(query));
  EXPECT_THAT(without.reports, IsEmpty());
  EXPECT_EQ(without.status->kind, "nothing-waits");
  EXPECT_THAT(AnswerTo(Watch("n0", number - 1)).reports, IsEmpty());
  const WaiterId waits = Watch("n0", number);
  const WaiterId watches = Ask({"train", number, absl::Seconds(5)});
  query.after = number;
  query.wait_timeout = absl::Seconds(5);
  const WaiterId watches_without = Ask(query);
  Advance(absl::Minutes(1));
  EXPECT_THAT(AnswerTo(waits).reports, IsEmpty());
  EXPECT_THAT(AnswerTo(watches).reports, SizeIs(1));
  EXPECT_THAT(AnswerTo(watches_without).reports, IsEmpty());
}

TEST_F(HangDiagnoserTest, ReportsOfAnEarlierInquiryAreRefused) {
  Watch("n0");
  const uint64_t first = StatusIn(Request()).number;
  ASSERT_TRUE(Report("n0", first, {}).ok());
  Advance(absl::Seconds(2));
  Request();
  EXPECT_EQ(Report("n0", first, {}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Report("n0", 0, {}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LargeHangDiagnosisTest, FilesAreBoundedOfOneLauncherAndOfAll) {
  const uint64_t number = StatusIn(Request()).number;
  const auto report = [&](int launcher, size_t bytes) {
    const auto content = std::make_shared<const std::string>(bytes, 'x');
    return Report("n" + std::to_string(launcher), number, {}, {{"f", content}});
  };
  EXPECT_EQ(report(0, (4 << 20) + 1).code(), absl::StatusCode::kResourceExhausted);
  const size_t most = (4 << 20) - 1;
  for (int launcher = 0; launcher < 16; ++launcher) EXPECT_TRUE(report(launcher, most).ok());
  EXPECT_EQ(report(16, most).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(report(3, 10).ok()) << "in the place of what it had sent";
  EXPECT_TRUE(report(16, most - 100).ok());
}

TEST_F(LargeHangDiagnosisTest, ObservationsCountAsFilesDo) {
  const uint64_t number = StatusIn(Request()).number;
  RankObservation seen = StoppedRank(0);
  seen.target = std::string(1024, 'x');
  const auto report = [&](int launcher, size_t ranks) {
    return Report("n" + std::to_string(launcher), number, {ranks, seen});
  };
  EXPECT_EQ(report(0, 4096).code(), absl::StatusCode::kResourceExhausted);
  const size_t half = 2048;  // slightly more than 2 MiB
  for (int launcher = 0; launcher < 16; ++launcher) EXPECT_TRUE(report(launcher, half).ok());
  absl::Status last;
  for (int launcher = 16; launcher < 32; ++launcher) last = report(launcher, half);
  EXPECT_EQ(last.code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(HangDiagnoserTest, AVerdictIsALineThatFitsIntoALog) {
  Watch("n0");
  const uint64_t number = StatusIn(Request()).number;
  RankObservation wordy = StoppedRank(0);
  wordy.condition = ProcessCondition::kSleeping;
  wordy.call = wordy.target = wordy.thread = wordy.blocked_by = std::string(1024, 'x');
  ASSERT_TRUE(Report("n0", number, {wordy, wordy, wordy}).ok());
  EXPECT_THAT(Latest().verdict, SizeIs(Le(4096u)));
  EXPECT_THAT(Latest().verdict, EndsWith("xxx..."));
}

TEST_F(HangDiagnoserTest, LaunchersThatComeAndGoAreForgotten) {
  Options options = Harness::DefaultOptions(2);
  options.limits.max_members = 4;
  diagnoser_ = HangDiagnoser(options);
  Watch("n0");
  for (int i = 10; i < 99; ++i) {
    const WaiterId gone = Watch("n" + std::to_string(i));
    ASSERT_TRUE(diagnoser_.Cancel(h_.now(), gone));
  }
  const std::vector<std::string> awaited = StatusIn(Request()).awaited_nodes;
  EXPECT_THAT(awaited, SizeIs(Le(4u)));
  EXPECT_THAT(awaited, Contains("n0")) << "it waits for work";
  EXPECT_THAT(awaited, Contains("n98")) << "it has just gone";
}

TEST_F(HangDiagnoserTest, FileNamesCannotEscapeTheBundle) {
  const uint64_t number = StatusIn(Request()).number;
  const auto text = std::make_shared<const std::string>();
  for (const std::string name :
       {"/etc/passwd", "../x", "a/../b", "", "a//b", "a/", ".ssh/x", "a b", "a\nb"}) {
    EXPECT_EQ(Report("n0", number, {}, {{name, text}}).code(), absl::StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_TRUE(Report("n0", number, {}, {{"rank-0/thread_1.txt", text}}).ok());
}

TEST_F(HangDiagnoserTest, ADrainEndsQuestionsAndLeavesNothingDue) {
  const WaiterId watch = Watch("n0");
  Request();
  const WaiterId again = Watch("n0", Latest().number);
  h_.Absorb(0, diagnoser_.Drain("going"));
  EXPECT_FALSE(h_.Parked(watch));
  EXPECT_EQ(h_.StatusOf(again).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(diagnoser_.NextDeadline(), absl::InfiniteFuture());
}

// Launchers wait for a number above the one that the old daemon gave them.
TEST_F(HangDiagnoserTest, LaunchersHearOfANewDaemonsInquiriesThoughItsClockIsBehind) {
  Watch("n0");
  const uint64_t before = StatusIn(Request()).number;
  const uint64_t ahead = before + absl::ToInt64Microseconds(absl::Hours(24 * 30));
  diagnoser_ = HangDiagnoser(h_.coordinator().options());
  const WaiterId one = Watch("n0", ahead);
  const WaiterId other = Watch("n1", ahead - 5);
  const uint64_t number = StatusIn(Request()).number;
  EXPECT_GT(number, ahead);
  ASSERT_FALSE(h_.Parked(one));
  ASSERT_FALSE(h_.Parked(other));
  EXPECT_EQ(StatusIn(one).number, number);
}

TEST_F(HangDiagnoserTest, ACallerCannotExhaustTheNumbers) {
  Watch("n0", UINT64_MAX);
  Watch("n1", UINT64_MAX - 1);
  const uint64_t first = StatusIn(Request()).number;
  EXPECT_LT(first, uint64_t{1} << 62);
  ASSERT_TRUE(Report("n0", first, {}).ok());
  ASSERT_TRUE(Report("n1", first, {}).ok());
  Advance(absl::Seconds(2));
  EXPECT_GT(StatusIn(Request()).number, first);
}

// Containers of one host may have the same process ids and the same node name.
TEST_F(HangDiagnoserTest, ObservationsCarryTheRankInTheJob) {
  const uint64_t number = StatusIn(Request()).number;
  RankObservation stranger = StoppedRank(0);
  stranger.incarnation = std::string(16, 's');
  ASSERT_TRUE(Report("n0", number, {StoppedRank(1), StoppedRank(0), stranger}).ok());
  const InquiryAnswer& answer = AnswerTo(Ask({"train"}));
  ASSERT_THAT(answer.reports, SizeIs(1));
  const std::vector<RankObservation>& seen = answer.reports[0]->ranks;
  ASSERT_THAT(seen, SizeIs(2)) << "a process that is no member is nobody's matter";
  EXPECT_EQ(seen[0].rank, 1u);
  EXPECT_EQ(seen[1].rank, 0u);
}

// ---- Launchers that lie ----

TEST_F(HangDiagnoserTest, ALauncherWithoutAMembersSecretIsIgnored) {
  Watch("n0");
  const uint64_t number = StatusIn(Request()).number;
  RankObservation stopped = StoppedRank(1);
  stopped.incarnation = std::string(16, 's');
  stopped.rank = 1;
  const auto text = std::make_shared<const std::string>("lies");
  const absl::Status refused = Report("n7", number, {stopped}, {{"rank-1/threads.txt", text}});
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the launcher of node 'n7'"));
  EXPECT_THAT(AnswerTo(Ask({"train"})).reports, IsEmpty());
  ASSERT_TRUE(Report("n0", number, {stopped}).ok());
  EXPECT_EQ(Latest().kind, "nothing-waits");
  EXPECT_THAT(Latest().verdict, Not(HasSubstr("stopped")));
}

TEST_F(HangDiagnoserTest, OnlyOneLauncherReportsOnAMember) {
  const uint64_t number = StatusIn(Request()).number;
  ASSERT_TRUE(Report("n0", number, {StoppedRank(0)}).ok());
  for (int i = 0; i < 9; ++i) {
    LauncherIdentity another = OfTheJob("n0");
    another.id += std::to_string(i);
    EXPECT_EQ(Send({"train", number, {another, {StoppedRank(0)}, {}, true}}).code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(Report("n0", number, {}).ok()) << "the same one, once more";
  EXPECT_TRUE(Report("n1", number, {StoppedRank(0), StoppedRank(1)}).ok());
}

TEST_F(HangDiagnoserTest, AnUnknownLauncherIsNotAwaitedOnceAllMembersAreReported) {
  Watch("n0");
  Watch("n1");
  Watch("n7");
  const uint64_t number = StatusIn(Request()).number;
  ASSERT_TRUE(Report("n0", number, {StoppedRank(0)}).ok());
  EXPECT_THAT(Latest().awaited_nodes, ElementsAre("n1", "n7"));
  ASSERT_TRUE(Report("n1", number, {StoppedRank(1)}).ok());
  EXPECT_FALSE(Latest().open);
  EXPECT_TRUE(Latest().complete);
}

TEST_F(HangDiagnoserTest, ASilentStrangerDoesNotBlameItsNode) {
  LauncherIdentity stranger = Launcher("n0");
  stranger.id = "somebody";
  Ask({"train", 0, absl::Minutes(1), stranger});
  Stall();
  Advance(absl::Seconds(10));
  EXPECT_EQ(Latest().kind, "unknown");
}

TEST_F(HangDiagnoserTest, ASilentKnownLauncherMeansThatItsNodeIsCutOff) {
  const LauncherIdentity older = Launcher("n1");  // names its processes in reports only
  Ask({"train", 0, absl::Minutes(1), older});
  const uint64_t number = StatusIn(Request()).number;
  ASSERT_TRUE(Send({"train", number, {older, {StoppedRank(1)}, {}, true}}).ok());
  Ask({"train", number, absl::Minutes(1), older});
  h_.Barrier(p_[0], "x", absl::Hours(1));
  Advance(absl::Seconds(2));
  Request();
  Advance(absl::Seconds(10));
  EXPECT_EQ(Latest().kind, "silent-node");
}

// While a process has not attached, no launcher can prove that the process is its own.
TEST_F(FormingHangDiagnosisTest, AnyLauncherReportsOnItsProcesses) {
  Ask({"train", 0, absl::Minutes(1), Launcher("n1")});
  const uint64_t number = StatusIn(Request()).number;
  RankObservation late;
  late.incarnation = std::string(16, 's');
  late.rank = 1;
  late.condition = ProcessCondition::kStopped;
  ASSERT_TRUE(Send({"train", number, {Launcher("n1"), {late}, {}, true}}).ok());
  EXPECT_THAT(Latest().verdict, HasSubstr("rank 1 (node 'n1'"));
}

TEST_F(FormingHangDiagnosisTest, LaunchersProcessesAreCountedBeforeTheFirstJoin) {
  EXPECT_EQ(Shown().reason, "0 of 2 members have joined");
  const std::vector<Incarnation> processes = {std::string(16, 'a'), std::string(16, 'b')};
  Ask({"train", 0, absl::Minutes(1), Launcher("n0", processes)});
  EXPECT_EQ(Shown().reason, "2 processes run; none uses Muster (none has called Join)");
  Process first = h_.Attached();
  h_.Join(first);
  EXPECT_EQ(Shown().reason, "1 of 2 members have joined");
}

TEST_F(FormingHangDiagnosisTest, ProcessesOfAGoneLauncherAreNotCounted) {
  Ask({"train", 0, absl::Seconds(1), Launcher("n0", {std::string(16, 'a')})});
  EXPECT_EQ(Shown().reason, "1 process runs; it does not use Muster (it has not called Join)");
  Advance(absl::Seconds(5));
  EXPECT_EQ(Shown().reason, "1 process runs; it does not use Muster (it has not called Join)");
  Advance(absl::Seconds(10));
  EXPECT_EQ(Shown().reason, "0 of 2 members have joined");
}

TEST_F(HangDiagnoserTest, NumbersGrowOverARestart) {
  const uint64_t before = StatusIn(Request()).number;
  Advance(absl::Seconds(1));
  diagnoser_ = HangDiagnoser(h_.coordinator().options());
  EXPECT_GT(StatusIn(Request()).number, before);
}

}  // namespace
}  // namespace muster::core
