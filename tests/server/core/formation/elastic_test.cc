// Elastic jobs: how epochs end, which processes form the next one, and when the job fails.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Text(const Harness& h, WaiterId id) { return std::string(h.StatusOf(id).message()); }

JobState StateOf(Harness& h) { return h.coordinator().GetStatus(h.now()).state; }

const JoinAnswer& PlaceOf(const Harness& h, WaiterId id) {
  EXPECT_TRUE(h.StatusOf(id).ok()) << h.StatusOf(id);
  return std::get<JoinAnswer>(h.ReplyTo(id).answer);
}

TEST(ElasticTest, SurvivorsContinueInOrderAfterTheSettleTime) {
  Harness h(Harness::ElasticOptions(2, 4));
  std::vector<Process> p = h.Formed(4);
  h.ReportExit(p[1], true, 9);
  ASSERT_THAT(h.BrokenEvents(p[0].stream), SizeIs(1));
  EXPECT_TRUE(h.BrokenEvents(p[0].stream)[0].may_rejoin);
  EXPECT_EQ(StateOf(h), JobState::kReforming);
  EXPECT_FALSE(h.coordinator().Outcome().has_value());
  const WaiterId r0 = h.Rejoin(p[0]), r3 = h.Rejoin(p[3]), r2 = h.Rejoin(p[2]);
  h.Advance(absl::Milliseconds(4999));
  EXPECT_TRUE(h.Parked(r0));
  h.Advance(absl::Milliseconds(1));
  const JoinAnswer place = PlaceOf(h, r3);
  EXPECT_GT(place.epoch.number, p[0].epoch.number);
  EXPECT_EQ(place.rank, 2u);
  EXPECT_EQ(PlaceOf(h, r2).rank, 1u);
  ASSERT_THAT(*place.roster, SizeIs(3));
  EXPECT_EQ((*place.roster)[2].previous_rank, 3u);
  h.TakePlace(p[0], r0);
  h.TakePlace(p[2], r2);
  h.TakePlace(p[3], r3);
  for (int i : {0, 2, 3}) h.Barrier(p[i]);
  const WaiterId again = h.Barrier(p[0]);
  EXPECT_TRUE(h.Parked(again)) << "sequence numbers start anew: the barrier before completed";
}

TEST(ElasticTest, ANewcomerTakesTheVacatedPlaceAtOnce) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  h.ReportExit(p[1], true, 9);
  Process newcomer = h.Attached();
  const WaiterId join = h.Join(newcomer);
  const WaiterId r0 = h.Rejoin(p[0]);
  EXPECT_TRUE(h.Parked(join)) << "rank 2 may still come";
  const WaiterId r2 = h.Rejoin(p[2]);
  EXPECT_EQ(PlaceOf(h, join).rank, 1u);
  EXPECT_EQ(PlaceOf(h, r2).rank, 2u);
  EXPECT_EQ(PlaceOf(h, r0).rank, 0u);
  EXPECT_FALSE((*PlaceOf(h, join).roster)[1].previous_rank.has_value());
}

TEST(ElasticTest, Rank0IsASurvivorAndOrderIsKept) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  h.ReportExit(p[0], true, 9);
  Process newcomer = h.Attached();
  const WaiterId join = h.Join(newcomer);
  const WaiterId r1 = h.Rejoin(p[1]), r2 = h.Rejoin(p[2]);
  EXPECT_EQ(PlaceOf(h, r1).rank, 0u);
  EXPECT_EQ(PlaceOf(h, r2).rank, 2u);
  EXPECT_EQ(PlaceOf(h, join).rank, 1u);
}

TEST(ElasticTest, ARejoinBreaksTheEpochAndTakesTheNewcomerIn) {
  Harness h(Harness::ElasticOptions(1, 3));
  Process a = h.Attached(), b = h.Attached();
  const WaiterId ja = h.Join(a), jb = h.Join(b);
  h.Advance(absl::Seconds(5));
  h.TakePlace(a, ja);
  h.TakePlace(b, jb);
  Process newcomer = h.Attached();
  const WaiterId join = h.Join(newcomer);
  EXPECT_TRUE(h.Parked(join));
  ASSERT_THAT(h.Events<NewcomersWaiting>(a.stream), SizeIs(1));
  EXPECT_EQ(h.Events<NewcomersWaiting>(a.stream)[0].waiting, 1u);
  EXPECT_EQ(h.Events<NewcomersWaiting>(a.stream)[0].free_places, 1u);
  EXPECT_EQ(h.coordinator().GetStatus(h.now()).newcomers_waiting, 1u);
  const WaiterId parked = h.Barrier(b);
  const WaiterId ra = h.Rejoin(a);
  EXPECT_EQ(h.StatusOf(parked).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Text(h, parked), HasSubstr("rank 0 (node 'n0', host host-n0, pid 1001) asked for a "
                                         "new epoch"));
  const WaiterId rb = h.Rejoin(b);
  EXPECT_EQ(PlaceOf(h, ra).rank, 0u);
  EXPECT_EQ(PlaceOf(h, rb).rank, 1u);
  EXPECT_EQ(PlaceOf(h, join).rank, 2u);
}

TEST(ElasticTest, ANewcomerThatGoesAwayIsTakenBack) {
  Harness h(Harness::ElasticOptions(1, 2));
  Process a = h.Attached();
  const WaiterId ja = h.Join(a);
  h.Advance(absl::Seconds(5));
  h.TakePlace(a, ja);
  Process newcomer = h.Attached();
  h.Cancel(h.Join(newcomer));
  ASSERT_THAT(h.Events<NewcomersWaiting>(a.stream), SizeIs(1));
  h.Advance(absl::Seconds(1));
  ASSERT_THAT(h.Events<NewcomersWaiting>(a.stream), SizeIs(2));
  EXPECT_EQ(h.Events<NewcomersWaiting>(a.stream)[1].waiting, 0u);
}

TEST(ElasticTest, ASilentSurvivorIsLostAtTheRejoinDeadline) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  const WaiterId r0 = h.Rejoin(p[0]), r1 = h.Rejoin(p[1]);
  h.Advance(absl::Milliseconds(59'999));
  EXPECT_TRUE(h.Parked(r0)) << "rank 2 may still come";
  h.Advance(absl::Milliseconds(1));
  EXPECT_THAT(std::string(h.EndOf(p[2].stream)->message()),
              HasSubstr("it did not call Rejoin within 1m"));
  h.Advance(absl::Seconds(5));
  EXPECT_THAT(*PlaceOf(h, r1).roster, SizeIs(2));
}

TEST(ElasticTest, SurvivorsBelowTheMinimumGetAClearEnd) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  h.ReportExit(p[1], true, 9);
  h.ReportExit(p[2], true, 9);
  const WaiterId r0 = h.Rejoin(p[0]);
  h.Advance(absl::Minutes(2));
  EXPECT_EQ(h.StatusOf(r0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(h, r0), AllOf(HasSubstr("no new epoch formed within 1m"),
                                 HasSubstr("1 of 3 members have joined, at least 2 must"),
                                 HasSubstr("killed by signal 9")));
  EXPECT_EQ(h.coordinator().Outcome()->code(), absl::StatusCode::kAborted);
  EXPECT_EQ(h.StatusOf(h.Rejoin(p[0])).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(h.coordinator().NextDeadline(), absl::InfiniteFuture());
}

// Lets a newcomer come and go once a second, until `done` returns true.
void FlapUntil(Harness& h, absl::Duration limit, const std::function<bool()>& done) {
  Process newcomer = h.Attached();
  for (absl::Duration waited; waited < limit && !done(); waited += absl::Seconds(1)) {
    const WaiterId join = h.Join(newcomer);
    h.Advance(absl::Milliseconds(500));
    h.Cancel(join);
    h.Advance(absl::Milliseconds(500));
  }
  EXPECT_TRUE(done());
}

TEST(ElasticTest, ANewcomerThatComesAndGoesDoesNotPutOffTheNextEpochForEver) {
  Harness h(Harness::ElasticOptions(2, 4));
  std::vector<Process> p = h.Formed(4);
  h.ReportExit(p[3], true, 9);
  const WaiterId r0 = h.Rejoin(p[0]);
  h.Rejoin(p[1]);
  h.ReportExit(p[2], true, 9);
  FlapUntil(h, absl::Seconds(61), [&] { return !h.Parked(r0); });
  EXPECT_TRUE(h.StatusOf(r0).ok()) << h.StatusOf(r0);
}

TEST(ElasticTest, ANewcomerThatComesAndGoesDoesNotKeepTheJobFromFailing) {
  Harness h(Harness::ElasticOptions(2, 5));
  std::vector<Process> p = h.Formed(5);
  for (int dead : {2, 3, 4}) h.ReportExit(p[dead], true, 9);
  h.Rejoin(p[0]);
  h.Rejoin(p[1]);  // two of five are no majority
  FlapUntil(h, absl::Seconds(61), [&] { return StateOf(h) == JobState::kFailed; });
}

TEST(ElasticTest, ANewcomerThatComesAndGoesDoesNotPutOffTheFirstEpochForEver) {
  Harness h(Harness::ElasticOptions(2, 4));
  Process a = h.Attached(), b = h.Attached();
  h.Join(a, {}, absl::Hours(1));
  const WaiterId jb = h.Join(b, {}, absl::Hours(1));
  FlapUntil(h, absl::Seconds(62), [&] { return !h.Parked(jb); });
  EXPECT_TRUE(h.StatusOf(jb).ok()) << h.StatusOf(jb);
}

TEST(ElasticTest, ALateReplacementSavesTheJobBeforeTheDeadline) {
  Harness h(Harness::ElasticOptions(2, 2));
  std::vector<Process> p = h.Formed(2);
  h.ReportExit(p[1], true, 9);
  const WaiterId r0 = h.Rejoin(p[0]);
  h.Advance(absl::Seconds(55));
  Process newcomer = h.Attached();
  EXPECT_EQ(PlaceOf(h, h.Join(newcomer)).rank, 1u);
  EXPECT_EQ(PlaceOf(h, r0).rank, 0u);
}

TEST(ElasticTest, ALostAnswerOfRejoinIsGivenAgain) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  h.ReportExit(p[2], true, 9);
  h.Rejoin(p[0]);
  h.Rejoin(p[1]);
  h.Advance(absl::Seconds(5));
  h.CloseStream(p[1]);
  h.Recover(p[1], 0);  // claims the epoch before
  EXPECT_FALSE(h.EndOf(p[1].stream).has_value());
  EXPECT_EQ(PlaceOf(h, h.Rejoin(p[1])).rank, 1u);
}

TEST(ElasticTest, ALostAnswerOfJoinIsGivenAgainThoughTheEpochHasEnded) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  Process unaware = p[1];
  unaware.epoch = {};
  h.ReportExit(p[2], true, 9);
  h.CloseStream(unaware);
  h.Attach(unaware);
  h.TakePlace(unaware, h.Join(unaware));
  EXPECT_EQ(h.BrokenEvents(unaware.stream).at(0).epoch, unaware.epoch);
  h.Rejoin(p[0]);
  const WaiterId r1 = h.Rejoin(unaware);
  h.Advance(absl::Seconds(5));
  EXPECT_EQ(PlaceOf(h, r1).rank, 1u);
}

TEST(ElasticTest, ALostMemberCannotJoinTheNextEpoch) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  h.CloseStream(p[2]);
  h.Advance(absl::Seconds(2));
  h.Rejoin(p[0]);
  h.Rejoin(p[1]);
  h.Advance(absl::Seconds(5));
  h.Recover(p[2], 0);
  EXPECT_EQ(h.EndOf(p[2].stream)->code(), absl::StatusCode::kAborted);
}

TEST(ElasticTest, ARejoinOfAJobThatIsNotElasticIsRefused) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId r = h.Rejoin(p[0]);
  EXPECT_EQ(h.StatusOf(r).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(h, r), HasSubstr("--min-world-size"));
  EXPECT_TRUE(h.BrokenEvents(p[1].stream).empty());
}

TEST(ElasticTest, ReformingSurvivesARestart) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  h.ReportExit(p[2], true, 9);
  const EpochBroken broken = h.BrokenEvents(p[0].stream).at(0);
  h.Rejoin(p[0]);
  h.Restart();
  Claim claim = h.ClaimOf(p[0], 4);
  const Failure& loss = broken.failures.at(0);
  claim.broken = BrokenClaim{broken.reason, {{loss.rank, loss.member, loss.cause, {}, ""}}};
  h.Attach(p[0], claim);
  const WaiterId r0 = h.Rejoin(p[0]);
  h.Recover(p[1], 4);
  EXPECT_EQ(StateOf(h), JobState::kReforming);
  const WaiterId r1 = h.Rejoin(p[1]);
  h.Advance(absl::Seconds(5));
  EXPECT_THAT(*PlaceOf(h, r0).roster, SizeIs(2));
  EXPECT_GT(PlaceOf(h, r1).epoch.number, p[0].epoch.number);
}

TEST(ElasticTest, ALeaseIsTakenOverWithAHigherTokenAfterItsHolderIsLost) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  const uint64_t stale = h.TokenOf(h.Acquire(p[2], "work", 1));
  h.Acquire(p[0], "work", 1);
  h.CloseStream(p[2]);
  h.Advance(absl::Seconds(2));
  const WaiterId r0 = h.Rejoin(p[0]), r1 = h.Rejoin(p[1]);
  h.Advance(absl::Seconds(5));
  h.TakePlace(p[0], r0);
  h.TakePlace(p[1], r1);
  const WaiterId next = h.Acquire(p[0], "work", 2);
  EXPECT_GT(h.TokenOf(next), stale);
  EXPECT_EQ(h.StatusOf(h.Complete(p[2], "work", stale, "x")).code(), absl::StatusCode::kAborted)
      << "the holder was lost";
  EXPECT_EQ(h.StatusOf(h.Complete(p[1], "work", stale, "x")).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(h.StatusOf(h.Complete(p[0], "work", h.TokenOf(next), "y")).ok());
}

TEST(ElasticTest, ALeaseIsTakenOverAcrossADaemonRestart) {
  Harness h(Harness::ElasticOptions(2, 3));
  std::vector<Process> p = h.Formed(3);
  const uint64_t stale = h.TokenOf(h.Acquire(p[2], "work", 1));
  h.Restart();
  for (int i : {0, 1}) {
    Claim seen = h.ClaimOf(p[i], 0);
    seen.highest_token = stale;
    h.Attach(p[i], seen);
  }
  h.Advance(absl::Seconds(60));  // the holder is lost
  const WaiterId r0 = h.Rejoin(p[0]), r1 = h.Rejoin(p[1]);
  h.Advance(absl::Seconds(5));
  h.TakePlace(p[0], r0);
  h.TakePlace(p[1], r1);
  EXPECT_GT(h.TokenOf(h.Acquire(p[1], "work", 1)), stale);
  Claim late = h.ClaimOf(p[2], 0);
  late.held.push_back({"work", LeaseScope::kJob, stale, 1});
  h.Attach(p[2], late);
  EXPECT_EQ(h.EndOf(p[2].stream)->code(), absl::StatusCode::kAborted);
}

TEST(ElasticTest, ASurvivorThatLeavesIsNotWaitedFor) {
  Harness h(Harness::ElasticOptions(2, 4));
  std::vector<Process> p = h.Formed(4);
  h.ReportExit(p[3], true, 9);
  const WaiterId r0 = h.Rejoin(p[0]), r1 = h.Rejoin(p[1]), r2 = h.Rejoin(p[2]);
  EXPECT_TRUE(h.StatusOf(h.Leave(p[2])).ok());
  EXPECT_EQ(h.StatusOf(r2).code(), absl::StatusCode::kFailedPrecondition);
  h.Advance(absl::Seconds(5));
  EXPECT_THAT(*PlaceOf(h, r0).roster, SizeIs(2)) << "half, with rank 0";
  EXPECT_TRUE(h.StatusOf(r1).ok());
}

TEST(ElasticTest, WaitingProcessesAreToldThatTheJobHasFinished) {
  Harness h(Harness::ElasticOptions(1, 2));
  std::vector<Process> p = h.Formed(2);
  Process spare = h.Attached();
  const WaiterId join = h.Join(spare);
  EXPECT_TRUE(h.Parked(join)) << "a place may become free";
  h.Leave(p[0]);
  h.Leave(p[1]);
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kFailedPrecondition);
}

// Ends the last process of `p`, and starts another one in its place. Returns its Join.
WaiterId Replace(Harness& h, std::vector<Process>& p) {
  h.ReportExit(p.back(), false, 3);
  Process newcomer = h.Attached();
  const WaiterId join = h.Join(newcomer);
  std::vector<WaiterId> rejoins;
  for (size_t i = 0; i + 1 < p.size(); ++i) rejoins.push_back(h.Rejoin(p[i]));
  if (!h.StatusOf(join).ok()) return join;
  h.TakePlace(newcomer, join);
  for (size_t i = 0; i + 1 < p.size(); ++i) h.TakePlace(p[i], rejoins[i]);
  p.back() = newcomer;
  return join;
}

TEST(ElasticTest, FailsWhenMoreProcessesThanAllowedWouldTakeTheirPlaces) {
  Options options = Harness::ElasticOptions(2, 3);
  options.max_restarts_total = 2;
  Harness h(options);
  std::vector<Process> p = h.Formed(3);
  EXPECT_TRUE(h.StatusOf(Replace(h, p)).ok());
  EXPECT_TRUE(h.StatusOf(Replace(h, p)).ok());
  const WaiterId third = Replace(h, p);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
  EXPECT_THAT(Text(h, third),
              AllOf(HasSubstr("3 processes"), HasSubstr("--max-restarts-total is 2"),
                    HasSubstr("rank 2 (node 'n0', host host-n0, pid 1005) was lost: exited with "
                              "status 3")));
  ASSERT_TRUE(h.coordinator().Outcome().has_value());
  EXPECT_THAT(std::string(h.coordinator().Outcome()->message()),
              HasSubstr("--max-restarts-total is 2"));
}

TEST(ElasticTest, AProcessWithoutARankIsNotTheLastLoss) {
  Options options = Harness::ElasticOptions(2, 3);
  options.max_restarts_total = 1;
  Harness h(options);
  std::vector<Process> p = h.Formed(3);
  Replace(h, p);
  Process stranger = h.Attached();
  h.ReportExit(p[2], false, 3);
  h.ReportExit(stranger, true, 9);
  Process newcomer = h.Attached();
  const WaiterId join = h.Join(newcomer);
  h.Rejoin(p[0]);
  h.Rejoin(p[1]);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
  EXPECT_THAT(Text(h, join), HasSubstr("the last loss: rank 2 ("));
}

TEST(ElasticTest, ARestartedDaemonKnowsHowManyWereReplaced) {
  Options options = Harness::ElasticOptions(2, 3);
  options.max_restarts_total = 2;
  Harness h(options);
  std::vector<Process> p = h.Formed(3);
  Replace(h, p);
  h.Restart();
  for (Process& process : p) h.Recover(process, 0);
  EXPECT_TRUE(h.StatusOf(Replace(h, p)).ok());
  h.Restart();
  for (Process& process : p) h.Recover(process, 0);
  Replace(h, p);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
}

// The process whose claim tells a restarted daemon of the epoch has already ended.
TEST(ElasticTest, TheReplacementCountSurvivesItsClaimant) {
  Options options = Harness::ElasticOptions(1, 3);
  options.max_restarts_total = 5;
  Harness h(options);
  std::vector<Process> p = h.Formed(3);
  p[0].history.replacements = 3;
  h.Restart();
  h.ReportExit(p[0], true, 9);
  for (Process& process : p) h.Recover(process, 0);
  const WaiterId rejoins[] = {h.Rejoin(p[1]), h.Rejoin(p[2])};
  h.Advance(absl::Seconds(10));
  h.TakePlace(p[1], rejoins[0]);
  EXPECT_EQ(p[1].history.replacements, 3u);
}

TEST(ElasticTest, GrowingTheJobIsNoReplacement) {
  Options options = Harness::ElasticOptions(1, 3);
  options.max_restarts_total = 1;
  Harness h(options);
  Process a = h.Attached();
  const WaiterId join = h.Join(a);
  h.Advance(absl::Seconds(5));
  h.TakePlace(a, join);
  std::vector<Process> more = {h.Attached(), h.Attached()};
  const std::vector<WaiterId> joins = {h.Join(more[0]), h.Join(more[1])};
  h.TakePlace(a, h.Rejoin(a));
  EXPECT_EQ(a.history.replacements, 0u);
  EXPECT_EQ(a.history.largest_world_size, 3u);
  h.TakePlace(more[0], joins[0]);
  h.TakePlace(more[1], joins[1]);

  // Shrinks and grows back to its earlier size, so nothing is replaced.
  h.ReportExit(more[1], true, 9);
  const WaiterId r0 = h.Rejoin(a), r1 = h.Rejoin(more[0]);
  h.Advance(absl::Seconds(5));
  h.TakePlace(a, r0);
  h.TakePlace(more[0], r1);
  EXPECT_EQ(a.history.replacements, 0u);
  Process back = h.Attached();
  h.Join(back);
  const WaiterId again = h.Rejoin(a);
  h.Rejoin(more[0]);
  h.TakePlace(a, again);
  EXPECT_EQ(a.history.replacements, 1u);
}

}  // namespace
}  // namespace muster::core
