// Joining before the first epoch: requested ranks, processes that ask for one place, and refusals.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

JoinRequest RankRequest(uint32_t world_size, std::optional<uint32_t> rank = {}) {
  JoinRequest request;
  request.world_size = world_size;
  request.rank = rank;
  return request;
}

JoinRequest LocalRankRequest(uint32_t local_rank) {
  JoinRequest request;
  request.local_rank = local_rank;
  return request;
}

const JoinAnswer& JoinedAs(const Harness& h, WaiterId id) {
  return std::get<JoinAnswer>(h.ReplyTo(id).answer);
}

TEST(JoiningTest, TheEpochFormsWhenTheLastMemberComes) {
  Harness h(3);
  Process a = h.Attached(), b = h.Attached(), c = h.Attached();
  const WaiterId ja = h.Join(a), jb = h.Join(b);
  EXPECT_TRUE(h.Parked(ja) && h.Parked(jb));
  const WaiterId jc = h.Join(c);
  EXPECT_EQ(JoinedAs(h, ja).rank, 0u);
  EXPECT_EQ(JoinedAs(h, jc).rank, 2u);
  EXPECT_EQ(JoinedAs(h, jb).roster->size(), 3u);
  EXPECT_EQ(JoinedAs(h, ja).epoch, JoinedAs(h, jc).epoch);
}

TEST(JoiningTest, ARetryIsAnsweredWithThePlace) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId again = h.Join(p[1]);
  EXPECT_EQ(JoinedAs(h, again).rank, 1u);
  EXPECT_EQ(JoinedAs(h, again).epoch, p[0].epoch);
}

TEST(JoiningTest, ALaterSendReplacesAParkedOneAndAnEarlierOneChangesNothing) {
  Harness h(2);
  Process a = h.Attached();
  JoinRequest early;
  early.call = h.Context(a);
  const WaiterId first = h.Join(a), second = h.Join(a);
  EXPECT_EQ(h.StatusOf(first).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(h.Parked(second));
  const WaiterId late = h.NextId();
  h.Absorb(late, h.coordinator().Step(h.now(), late, early));
  EXPECT_EQ(h.StatusOf(late).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(h.Parked(second));
}

TEST(JoiningTest, TheFirstJoinerMaySayTheWorldSize) {
  Harness h(0u);
  Process a = h.Attached(), b = h.Attached();
  const WaiterId ja = h.Join(a, RankRequest(2));
  h.Join(b);
  EXPECT_EQ(JoinedAs(h, ja).roster->size(), 2u);
}

TEST(JoiningTest, WorldSizesThatDisagreeAreBothNamed) {
  Harness h(0u);
  Process a = h.Attached(), b = h.Attached();
  h.Join(a, RankRequest(4));
  const WaiterId jb = h.Join(b, RankRequest(8));
  EXPECT_EQ(h.StatusOf(jb).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(h.StatusOf(jb).message()),
              AllOf(HasSubstr("pid 1002) expects 8"), HasSubstr("pid 1001) says 4")));
}

TEST(JoiningTest, TheDaemonsWorldSizeIsNamed) {
  Harness h(4);
  Process a = h.Attached();
  EXPECT_THAT(std::string(h.StatusOf(h.Join(a, RankRequest(2))).message()),
              AllOf(HasSubstr("expects 2"), HasSubstr("musterd --world-size says 4")));
}

TEST(JoiningTest, ARankOutOfRangeIsRefused) {
  Harness h(4);
  Process a = h.Attached();
  const WaiterId join = h.Join(a, RankRequest(0, 4));
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(h.StatusOf(join).message()), HasSubstr("rank 4 is out of range"));
}

TEST(JoiningTest, EitherAllAskForARankOrNone) {
  Harness h(2);
  Process a = h.Attached(), b = h.Attached();
  h.Join(a, RankRequest(0, 0));
  const WaiterId join = h.Join(b);
  EXPECT_THAT(std::string(h.StatusOf(join).message()), HasSubstr("asks for none"));
}

TEST(JoiningTest, ARankAskedForTwiceIsRefusedAfterAGraceAndBothAreNamed) {
  Harness h(2);
  Process a = h.Attached(), b = h.Attached();
  const WaiterId ja = h.Join(a, RankRequest(0, 1)), jb = h.Join(b, RankRequest(0, 1));
  EXPECT_TRUE(h.Parked(jb));
  h.Advance(absl::Seconds(2));
  EXPECT_EQ(h.StatusOf(jb).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(
      std::string(h.StatusOf(jb).message()),
      AllOf(HasSubstr("rank 1 is asked for twice"), HasSubstr("pid 1001"), HasSubstr("pid 1002")));
  EXPECT_TRUE(h.Parked(ja));
}

TEST(JoiningTest, ANewerProcessTakesThePlaceOfADeadOne) {
  Harness h(2);
  Process dead = h.Attached(), newer = h.Attached(), other = h.Attached();
  const WaiterId old_join = h.Join(dead, RankRequest(0, 0));
  h.CloseStream(dead);
  const WaiterId new_join = h.Join(newer, RankRequest(0, 0)),
                 other_join = h.Join(other, RankRequest(0, 1));
  EXPECT_EQ(h.StatusOf(old_join).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(h.StatusOf(old_join).message()),
              HasSubstr("replaced by a newer process"));
  EXPECT_EQ(JoinedAs(h, new_join).rank, 0u);
  EXPECT_EQ(JoinedAs(h, other_join).rank, 1u);
}

TEST(JoiningTest, TheLastJoinerMayReplaceADetachedProcess) {
  Harness h(2);
  Process dead = h.Attached(), newer = h.Attached(), other = h.Attached();
  h.Join(dead, RankRequest(0, 0));
  h.CloseStream(dead);
  const WaiterId other_join = h.Join(other, RankRequest(0, 1));
  const WaiterId new_join = h.Join(newer, RankRequest(0, 0));
  EXPECT_EQ(JoinedAs(h, new_join).rank, 0u);
  EXPECT_EQ(JoinedAs(h, other_join).rank, 1u);
}

TEST(JoiningTest, AReplacementHoldsThePlaceFromThenOn) {
  Harness h(3);
  Process dead = h.Attached(), first = h.Attached(), second = h.Attached(), other = h.Attached();
  h.Join(dead, RankRequest(0, 0));
  h.CloseStream(dead);
  const WaiterId first_join = h.Join(first, RankRequest(0, 0));
  const WaiterId second_join = h.Join(second, RankRequest(0, 0));
  h.Join(other, RankRequest(0, 1));
  h.Advance(absl::Seconds(2));
  EXPECT_TRUE(h.Parked(first_join));
  EXPECT_EQ(h.StatusOf(second_join).code(), absl::StatusCode::kAlreadyExists);
}

TEST(JoiningTest, AnEarlierRequestedRankIsCheckedAgainstTheSize) {
  Harness h(0u);
  Process far = h.Attached(), a = h.Attached(), b = h.Attached();
  const WaiterId far_join = h.Join(far, RankRequest(0, 5));
  const WaiterId ja = h.Join(a, RankRequest(2, 0));
  EXPECT_EQ(h.StatusOf(far_join).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(h.StatusOf(far_join).message()),
              HasSubstr("rank 5 is out of range: the job has 2 members"));
  const WaiterId jb = h.Join(b, RankRequest(2, 1));
  EXPECT_EQ(JoinedAs(h, ja).rank, 0u);
  EXPECT_EQ(JoinedAs(h, jb).rank, 1u);
}

TEST(JoiningTest, TheEpochOfRequestedRanksFormsWhenAllAreTaken) {
  Harness h(2);
  Process a = h.Attached(), b = h.Attached();
  const WaiterId join = h.Join(a, RankRequest(0, 0));
  h.Join(b, RankRequest(0, 1));
  EXPECT_FALSE(h.Parked(join));
}

TEST(JoiningTest, AContenderGetsThePlaceWhenItsHolderDies) {
  Harness h(2);
  Process a = h.Attached(), b = h.Attached(), c = h.Attached();
  h.Join(a, LocalRankRequest(0));
  const WaiterId jb = h.Join(b, LocalRankRequest(0));
  h.ReportExit(a, /*signaled=*/true, 9);
  h.Join(c, LocalRankRequest(1));
  EXPECT_EQ(JoinedAs(h, jb).rank, 0u);
}

TEST(JoiningTest, AnOlderProcessDoesNotContend) {
  Harness h(2);
  Process older = h.Attached(), newer = h.Attached();
  h.Join(newer, RankRequest(0, 0));
  EXPECT_EQ(h.StatusOf(h.Join(older, RankRequest(0, 0))).code(), absl::StatusCode::kAlreadyExists);
}

TEST(JoiningTest, ADeadCandidateIsNotCounted) {
  Harness h(2);
  Process a = h.Attached(), b = h.Attached(), c = h.Attached();
  const WaiterId ja = h.Join(a);
  h.CloseStream(a);
  const WaiterId jb = h.Join(b);
  EXPECT_TRUE(h.Parked(jb)) << "a detached member must not make the epoch";
  h.Advance(absl::Seconds(2));
  EXPECT_EQ(h.StatusOf(ja).code(), absl::StatusCode::kAborted);
  const WaiterId jc = h.Join(c);
  EXPECT_EQ(JoinedAs(h, jb).rank, 0u);
  EXPECT_EQ(JoinedAs(h, jc).rank, 1u);
}

TEST(JoiningTest, TheTimeOutNamesCountsAndMissingRanks) {
  Harness h(4);
  Process a = h.Attached(), b = h.Attached();
  const WaiterId ja = h.Join(a, RankRequest(0, 1), absl::Seconds(5));
  h.Join(b, RankRequest(0, 2), absl::Hours(1));
  h.Advance(absl::Seconds(5));
  EXPECT_EQ(h.StatusOf(ja).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(h.StatusOf(ja).message()),
              AllOf(HasSubstr("2 of 4 have joined"), HasSubstr("missing: ranks 0,3")));
}

TEST(JoiningTest, AFullJobRefusesNewcomers) {
  Harness h(2);
  h.Formed(2);
  Process late = h.Attached();
  const WaiterId join = h.Join(late);
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(h.StatusOf(join).message()), HasSubstr("the job is full"));
  EXPECT_EQ(h.StatusOf(h.Join(late, RankRequest(0, 1))).code(), absl::StatusCode::kAlreadyExists);
}

TEST(JoiningTest, TwoLaunchersOnOneHostAreToldToNameTheirNodes) {
  Harness h(2);
  Process first = h.Attached("host");
  Process second = h.Attached("host");
  JoinRequest request;
  request.local_rank = 0;
  request.rank = 0;
  h.Join(first, request);
  request.rank = 1;
  const WaiterId join = h.Join(second, request);
  h.Advance(absl::Seconds(2));
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(h.StatusOf(join).message()),
              AllOf(HasSubstr("local rank 0 of node 'host' is asked for twice"),
                    HasSubstr("two launchers share a host, give each a --node-id")));
}

TEST(JoiningTest, AProcessRestartedBeforeItsLossIsCertainMayRetry) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[1]);
  Process again = h.Attached();
  const absl::Status early = h.StatusOf(h.Join(again, RankRequest(0, 1)));
  EXPECT_EQ(early.code(), absl::StatusCode::kUnavailable) << "not final";
  EXPECT_THAT(std::string(early.message()),
              HasSubstr("rank 1 (node 'n0', host host-n0, pid 1002) still has its place"));
  h.Advance(absl::Seconds(2));
  EXPECT_EQ(h.StatusOf(h.Join(again, RankRequest(0, 1))).code(), absl::StatusCode::kAborted);
}

TEST(JoiningTest, AFailedJobRefusesNewcomersWithTheReason) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.ReportExit(p[1], true, 9);
  Process late = h.Attached();
  const absl::Status refused = h.StatusOf(h.Join(late));
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << "not the newcomer's fault";
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("the job has failed"), HasSubstr("rank 1"), HasSubstr("SIGKILL")));
}

TEST(JoiningTest, EpochNumbersStartFromTheWallClock) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  EXPECT_GT(p[0].epoch.number, static_cast<uint64_t>(absl::ToUnixMicros(h.now())) - 1);
  EXPECT_NE(p[0].epoch.nonce, 0u);
}

TEST(JoiningTest, WithoutAttachOrWithAnotherDaemonsSessionTheAnswerIsNeverFinal) {
  Harness h(1);
  Process a = h.Attached();
  a.session.daemon_instance = 5;
  EXPECT_EQ(h.StatusOf(h.Join(a)).code(), absl::StatusCode::kUnavailable);
}

TEST(JoiningTest, ACancelledJoinFreesItsPlace) {
  Harness h(2);
  Process a = h.Attached(), b = h.Attached(), c = h.Attached();
  const WaiterId ja = h.Join(a, RankRequest(0, 0));
  h.Cancel(ja);
  const WaiterId jb = h.Join(b, RankRequest(0, 0));
  h.Join(c, RankRequest(0, 1));
  EXPECT_EQ(JoinedAs(h, jb).rank, 0u);
}

std::vector<LogLine> LinesAbout(const Harness& h, const Process& process) {
  std::vector<LogLine> lines;
  const std::string pid = absl::StrCat("pid ", process.identity.pid, ")");
  for (const LogLine& line : h.log()) {
    const bool is_news = line.severity != Severity::kDebug;
    if (is_news && absl::StrContains(line.text, pid)) lines.push_back(line);
  }
  return lines;
}

TEST(JoiningTest, ARefusedProcessIsReportedAsRefusedNotLost) {
  Harness h(2);
  std::vector<Process> job = h.Formed(2);
  Process late = h.Attached("n1");
  const WaiterId join = h.Join(late);
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kFailedPrecondition);
  h.CloseStream(late);
  h.ReportExit(late, false, 64);
  const std::vector<LogLine> lines = LinesAbout(h, late);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].severity, Severity::kWarning);
  EXPECT_TRUE(absl::StrContains(lines[0].text, "is refused a place: the job is full"))
      << lines[0].text;
  EXPECT_TRUE(h.coordinator().GetStatus(h.now()).recent_failures.empty());
}

TEST(JoiningTest, AProcessWithAnotherWorldSizeIsReportedAsRefused) {
  Harness h(Harness::DefaultOptions(0));
  Process first = h.Attached();
  h.Join(first, RankRequest(3));
  Process other = h.Attached("n1");
  EXPECT_EQ(h.StatusOf(h.Join(other, RankRequest(4))).code(), absl::StatusCode::kInvalidArgument);
  h.ReportExit(other, false, 64);
  const std::vector<LogLine> lines = LinesAbout(h, other);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(absl::StrContains(lines[0].text, "is refused a place")) << lines[0].text;
}

}  // namespace
}  // namespace muster::core
