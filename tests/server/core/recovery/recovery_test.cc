// A restarted daemon recovers the epoch from its members' claims.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kAllGather = CollectiveKind::kAllGather;

std::string Text(const Harness& h, WaiterId id) { return std::string(h.StatusOf(id).message()); }

JobState StateOf(Harness& h) { return h.coordinator().GetStatus(h.now()).state; }

Attached AnswerOf(const Harness& h, const Process& p) { return h.Events<Attached>(p.stream).at(0); }

TEST(RecoveryTest, TheEpochGoesOnWhenItsWholeRosterHasAttached) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  for (Process& process : p) h.Recover(process, 7);
  EXPECT_EQ(StateOf(h), JobState::kRunning);
  EXPECT_EQ(h.coordinator().GetStatus(h.now()).epoch, p[0].epoch);
  for (Process& process : p) h.SendAt(process, 7, CollectiveKind::kBarrier);
  EXPECT_TRUE(h.StatusOf(h.SendAt(p[0], 7, CollectiveKind::kBarrier)).ok());
}

TEST(RecoveryTest, CallsParkUntilEverybodyIsHere) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  EXPECT_TRUE(AnswerOf(h, p[0]).recovering);
  const WaiterId b0 = h.SendAt(p[0], 0, CollectiveKind::kBarrier);
  const WaiterId lease = h.Acquire(p[0], "work", 1);
  const WaiterId leave = h.Leave(p[0]);
  EXPECT_EQ(StateOf(h), JobState::kRecovering);
  h.Recover(p[1], 0);
  EXPECT_EQ(StateOf(h), JobState::kRunning);
  EXPECT_NE(h.TokenOf(lease), 0u);
  EXPECT_TRUE(h.Parked(leave)) << "rank 1 stays";
  EXPECT_EQ(h.StatusOf(b0).code(), absl::StatusCode::kFailedPrecondition) << "its caller left";
}

TEST(RecoveryTest, ATimedOutCallNamesTheAwaitedMembers) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  const WaiterId barrier = h.Barrier(p[0], "x", absl::Seconds(5));
  h.Advance(absl::Seconds(5));
  EXPECT_EQ(h.StatusOf(barrier).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(h, barrier), AllOf(HasSubstr("waited 5s"), HasSubstr("1 of 2 members"),
                                      HasSubstr("rank 1 (node 'n0', host host-n0, pid 1002)")));
}

TEST(RecoveryTest, AWithdrawnDeferredCallDoesNotCountWhenItArrivesAgain) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  CollectiveRequest cancelled = h.Request(p[0], CollectiveKind::kBarrier);
  CollectiveRequest timed_out = cancelled;
  timed_out.call = h.Context(p[0], absl::Seconds(1));
  h.Cancel(h.Send(cancelled));
  h.Send(timed_out);
  h.Advance(absl::Seconds(1));
  h.Recover(p[1], 0);
  EXPECT_EQ(h.StatusOf(h.Send(cancelled)).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(h.StatusOf(h.Send(timed_out)).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(h.Parked(h.Barrier(p[1])));
  EXPECT_EQ(h.StatusOf(h.SendAt(p[0], 0, CollectiveKind::kBarrier)), absl::OkStatus());
}

TEST(RecoveryTest, AWithdrawnDeferredCallDoesNotCountThoughItHasArrivedTwice) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  const CollectiveRequest call = h.Request(p[0], CollectiveKind::kBarrier);
  const WaiterId first = h.Send(call);
  const WaiterId again = h.Send(call);
  h.Cancel(first);
  h.Recover(p[1], 0);
  EXPECT_EQ(h.StatusOf(again).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(h.Parked(h.Barrier(p[1])));
  EXPECT_EQ(h.StatusOf(h.SendAt(p[0], 0, CollectiveKind::kBarrier)), absl::OkStatus());
}

TEST(RecoveryTest, TheAbsentAreLostAtTheEndOfTheGrace) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.Recover(p[0], 0);
  h.Advance(absl::Seconds(30));
  h.Recover(p[1], 0);
  const WaiterId b = h.SendAt(p[0], 0, CollectiveKind::kBarrier);
  h.Advance(absl::Milliseconds(29'999));
  EXPECT_TRUE(h.Parked(b)) << "the grace counts from the first claim";
  h.Advance(absl::Milliseconds(1));
  EXPECT_EQ(h.StatusOf(b).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Text(h, b),
              AllOf(HasSubstr("rank 2 (node 'n0'"),
                    HasSubstr("did not attach to the restarted coordinator within 1m"),
                    HasSubstr("no call since the coordinator was restarted 60s before")));
  EXPECT_THAT(h.BrokenEvents(p[1].stream).at(0).failures, SizeIs(1));
  h.Recover(p[2], 0);
  EXPECT_EQ(h.EndOf(p[2].stream)->code(), absl::StatusCode::kAborted);
}

// Their silence must not count from 1970.
TEST(RecoveryTest, TheAbsentHaveBeenSilentSinceTheRestart) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  h.Advance(absl::Seconds(3));
  const JobStatus status = h.coordinator().GetStatus(h.now());
  EXPECT_EQ(status.members.at(1).since_last_call, absl::Seconds(3));
}

TEST(RecoveryTest, AnExitReportTakesTheAbsentOffTheList) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.ReportExit(p[1], /*signaled=*/true, 9);  // before any claim names it
  h.Recover(p[0], 0);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
  EXPECT_THAT(Text(h, h.Barrier(p[0])), HasSubstr("killed by signal 9 (SIGKILL)"));
}

TEST(RecoveryTest, AJoinOfARosterMemberIsAnsweredWithItsPlace) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Attach(p[1]);  // its Join was never answered, so it claims nothing
  const WaiterId join = h.Join(p[1]);
  h.Recover(p[0], 0);
  const auto& answer = std::get<JoinAnswer>(h.ReplyTo(join).answer);
  EXPECT_EQ(answer.epoch, p[0].epoch);
  EXPECT_EQ(answer.rank, 1u);
}

TEST(RecoveryTest, StrangersAreToldThatTheJobIsFull) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Process stranger = h.Attached();
  const WaiterId join = h.Join(stranger);
  h.Recover(p[0], 0);
  EXPECT_TRUE(h.Parked(join));
  h.Recover(p[1], 0);
  EXPECT_EQ(h.StatusOf(join).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(RecoveryTest, NoEpochFormsWhileOneIsClaimed) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Process a = h.Attached(), b = h.Attached();
  const WaiterId ja = h.Join(a);
  h.Recover(p[0], 0);
  const WaiterId jb = h.Join(b);
  EXPECT_TRUE(h.Parked(ja) && h.Parked(jb));
}

TEST(RecoveryTest, OneClaimOfABreakBreaksTheEpochForAll) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.ReportExit(p[2], true, 9);
  const EpochBroken broken = h.BrokenEvents(p[0].stream).at(0);
  h.Restart();
  h.Recover(p[1], 0);
  Claim claim = h.ClaimOf(p[0], 0);
  const Failure& loss = broken.failures.at(0);
  claim.broken = BrokenClaim{
      broken.reason, {{loss.rank, loss.member, loss.cause, absl::Seconds(3), loss.activity}}};
  h.Attach(p[0], claim);
  ASSERT_THAT(h.BrokenEvents(p[1].stream), SizeIs(1));
  EXPECT_EQ(h.BrokenEvents(p[1].stream)[0].reason, broken.reason);
  EXPECT_EQ(Text(h, h.Barrier(p[1])), broken.reason);
  EXPECT_EQ(h.coordinator().Outcome()->code(), absl::StatusCode::kAborted);
  h.Recover(p[2], 0);
  EXPECT_EQ(h.EndOf(p[2].stream)->code(), absl::StatusCode::kAborted) << "it was lost";
}

TEST(RecoveryTest, OneClaimOfAFinishedGroupFinishesItForAll) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.SendAt(p[0], 0, CollectiveKind::kBarrier);
  h.SendAt(p[1], 0, kAllGather);
  ASSERT_THAT(h.Events<GroupFinished>(p[1].stream), SizeIs(1));
  const std::string reason = h.Events<GroupFinished>(p[1].stream)[0].reason;
  h.Restart();
  Claim claim = h.ClaimOf(p[0], 0);
  claim.groups[0].finished = reason;
  h.Attach(p[0], claim);
  h.Recover(p[1], 0);
  EXPECT_THAT(h.Events<GroupFinished>(p[1].stream), IsEmpty()) << "it came before the event";
  const WaiterId b = h.SendAt(p[1], 0, CollectiveKind::kBarrier);
  EXPECT_EQ(h.StatusOf(b).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Text(h, b), reason);
}

TEST(RecoveryTest, TheHighestClaimedEpochWins) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  Process later = h.New();
  Claim newer = h.ClaimOf(p[0], 3);
  newer.epoch->number += 1;
  newer.roster =
      std::make_shared<Roster>(Roster{{p[0].identity, 0, 0, 0}, {later.identity, 1, 0, {}}});
  h.Restart();
  h.Recover(p[1], 9);
  h.Attach(p[0], newer);
  EXPECT_EQ(h.EndOf(p[1].stream)->code(), absl::StatusCode::kAborted);
  EXPECT_EQ(h.coordinator().GetStatus(h.now()).epoch, newer.epoch);
  EXPECT_EQ(StateOf(h), JobState::kRecovering);
  h.Recover(p[1], 9);
  EXPECT_EQ(h.EndOf(p[1].stream)->code(), absl::StatusCode::kAborted);
  h.Attach(later);
  EXPECT_EQ(StateOf(h), JobState::kRunning);
}

TEST(RecoveryTest, AMemberOfTheLaterEpochMayClaimTheOneBefore) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  Claim newer = h.ClaimOf(p[0], 0);
  newer.epoch->number += 1;
  newer.roster =
      std::make_shared<Roster>(Roster{{p[0].identity, 0, 0, 0}, {p[1].identity, 1, 0, 1}});
  h.Restart();
  h.Recover(p[1], 9);  // the answer that told it of the later epoch was lost
  h.Attach(p[0], newer);
  EXPECT_FALSE(h.EndOf(p[1].stream).has_value());
  EXPECT_EQ(StateOf(h), JobState::kRunning);
  EXPECT_EQ(h.coordinator().GetStatus(h.now()).epoch, newer.epoch);
}

// A daemon that knew nothing of the earlier epoch has formed the later one. Its members were told
// different histories, and those of the later epoch must be told the same one.
TEST(RecoveryTest, TheHistoryOfASupersededEpochIsForgottenWithIt) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  Claim newer = h.ClaimOf(p[0], 0);
  newer.epoch->number += 1;
  newer.roster =
      std::make_shared<Roster>(Roster{{p[0].identity, 0, 0, 0}, {p[1].identity, 1, 0, 1}});
  newer.history = {/*replacements=*/0, /*largest_world_size=*/2};
  p[2].history.replacements = 4;
  h.Restart();
  h.Recover(p[2], 0);
  h.Attach(p[0], newer);
  h.Attach(p[1]);
  const auto& answer = std::get<JoinAnswer>(h.ReplyTo(h.Join(p[1])).answer);
  EXPECT_EQ(answer.epoch, newer.epoch);
  EXPECT_EQ(answer.history.replacements, 0u);
  EXPECT_EQ(answer.history.largest_world_size, 2u);
}

TEST(RecoveryTest, AClaimOfAnotherEpochIsRefusedAfterwards) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  for (Process& process : p) h.Recover(process, 0);
  Process stranger = h.New();
  Claim claim = h.ClaimOf(p[0], 0);
  claim.epoch->number += 5;
  claim.roster = std::make_shared<Roster>(Roster{{stranger.identity, 0, 0, {}}});
  h.Attach(stranger, claim);
  EXPECT_EQ(h.EndOf(stranger.stream)->code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(h.EndOf(stranger.stream)->message()), HasSubstr("is over"));
}

TEST(RecoveryTest, EpochNumbersGrowOverARestartWhoseClockIsBehind) {
  Harness h(Harness::ElasticOptions(1, 2));
  Process first = h.Attached();
  const WaiterId join = h.Join(first);
  h.Advance(absl::Seconds(5));
  h.TakePlace(first, join);
  h.Restart();
  Claim claim = h.ClaimOf(first, 0);
  // The clock of an earlier daemon was 90 years ahead.
  claim.highest_epoch = absl::ToUnixMicros(h.now() + absl::Hours(24 * 365 * 90));
  h.Attach(first, claim);
  const WaiterId rejoin = h.Rejoin(first);
  h.Advance(absl::Seconds(5));
  h.TakePlace(first, rejoin);
  EXPECT_EQ(first.epoch.number, claim.highest_epoch + 1);
}

// A process without a place has never had one. If it claims to know high numbers, it lies.
TEST(RecoveryTest, NumbersAreTakenFromMembersOnly) {
  Harness h(1);
  Process stranger = h.Attached();
  Claim claim;
  claim.highest_epoch = absl::ToUnixMicros(h.now() + absl::Hours(24 * 365 * 90));
  h.Restart();
  h.Attach(stranger, claim);
  const auto& answer = std::get<JoinAnswer>(h.ReplyTo(h.Join(stranger)).answer);
  EXPECT_LT(answer.epoch.number, claim.highest_epoch);
}

TEST(RecoveryTest, WhenOnlyLeaversAreHereTheOthersHaveLeft) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Leave(p[0]);
  EXPECT_TRUE(h.StatusOf(h.Leave(p[1])).ok());  // rank 0's answer is lost with the daemon
  h.Restart();
  Claim leaving = h.ClaimOf(p[0], 0);
  leaving.leaving = true;
  h.Attach(p[0], leaving);
  const WaiterId leave = h.Leave(p[0]);
  EXPECT_TRUE(h.Parked(leave));
  h.ReportExit(p[1], false, 0);
  EXPECT_TRUE(h.StatusOf(leave).ok());
  EXPECT_TRUE(h.coordinator().Outcome()->ok());
}

TEST(RecoveryTest, AnEmptyRecoveryIsALossAndNotALeave) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  h.CloseStream(p[0]);
  h.Advance(absl::Minutes(2));
  EXPECT_EQ(StateOf(h), JobState::kFailed);
  EXPECT_EQ(h.coordinator().NextDeadline(), absl::InfiniteFuture());
}

TEST(RecoveryTest, AMemberThatDiesDuringTheRecoveryBreaksTheEpoch) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.Recover(p[0], 0);
  h.Recover(p[1], 0);
  h.ReportExit(p[1], true, 11);
  ASSERT_THAT(h.BrokenEvents(p[0].stream), SizeIs(1)) << "at once";
  EXPECT_EQ(StateOf(h), JobState::kRecovering);
  h.Recover(p[2], 0);
  EXPECT_EQ(StateOf(h), JobState::kFailed);
  EXPECT_THAT(h.BrokenEvents(p[2].stream), SizeIs(1));
}

TEST(RecoveryTest, MalformedClaimsAreRefusedAndChangeNothing) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  const auto refused = [&](const std::function<void(Claim&)>& spoil) {
    Claim claim = h.ClaimOf(p[0], 0);
    spoil(claim);
    h.AttachWithRoster(p[0], claim);
    return h.EndOf(p[0].stream).value_or(absl::OkStatus()).code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(refused([](Claim& c) { c.rank = 2; }), kInvalid);
  EXPECT_EQ(refused([](Claim& c) { c.rank = 1; }), kInvalid);
  EXPECT_EQ(refused([](Claim& c) { c.highest_token = ~0ull; }), kInvalid);
  EXPECT_EQ(refused([](Claim& c) { c.groups.push_back({{"g", {0, 7}}, 0, ""}); }), kInvalid);
  EXPECT_EQ(refused([](Claim& c) { c.held.push_back({"", LeaseScope::kJob, 1, 1}); }), kInvalid);
  EXPECT_EQ(refused([&](Claim& c) {
              c.roster = std::make_shared<Roster>(
                  Roster{{p[0].identity, 0, 0, {}}, {p[0].identity, 1, 0, {}}});
            }),
            kInvalid);
  EXPECT_EQ(StateOf(h), JobState::kForming);
}

TEST(RecoveryTest, RemainsOfAnEarlierRunGiveWayToACompleteNewRun) {
  Harness h(2);
  std::vector<Process> old = h.Formed(2);
  h.TokenOf(h.Acquire(old[0], "unpack", 1));
  h.Restart();
  Claim claim = h.ClaimOf(old[0], 7);
  claim.stop_asked = true;
  claim.completed.push_back(
      {"unpack", LeaseScope::kJob, {5, absl::OkStatus(), std::make_shared<std::string>("old")}});
  h.Attach(old[0], claim);
  Process a = h.Attached(), b = h.Attached();
  const WaiterId ja = h.Join(a), jb = h.Join(b);
  h.Advance(absl::Milliseconds(4999));
  EXPECT_TRUE(h.Parked(ja));
  h.Advance(absl::Milliseconds(1));
  ASSERT_TRUE(h.StatusOf(ja).ok()) << h.StatusOf(ja);
  EXPECT_EQ(h.EndOf(old[0].stream)->code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(h.EndOf(old[0].stream)->message()),
              AllOf(HasSubstr("an earlier run"), HasSubstr("1 of 2 members have come back")));
  h.TakePlace(a, ja);
  h.TakePlace(b, jb);
  EXPECT_NE(h.TokenOf(h.Acquire(a, "unpack", 1)), 0u) << "results of the earlier run do not count";
  const WaiterId barrier = h.Barrier(a);
  h.Barrier(b);
  EXPECT_FALSE(std::get<CollectiveAnswer>(h.ReplyTo(barrier).answer).stop_requested);
}

TEST(RecoveryTest, AnEpochOfWhichMoreThanHalfIsBackStandsAgainstNewcomers) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.Recover(p[0], 0);
  h.Recover(p[1], 0);
  for (int i = 0; i < 3; ++i) {
    Process newcomer = h.Attached();
    h.Join(newcomer);
  }
  h.Advance(absl::Seconds(30));
  EXPECT_EQ(StateOf(h), JobState::kRecovering);
}

TEST(RecoveryTest, TooFewNewcomersDoNotEndAnEpoch) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  Process newcomer = h.Attached();
  h.Join(newcomer);
  h.Advance(absl::Seconds(30));
  h.Recover(p[1], 0);
  EXPECT_EQ(StateOf(h), JobState::kRunning);
}

TEST(RecoveryTest, ANewcomerIsToldAtOnceWhatItWaitsFor) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  Process newcomer = h.Attached();
  h.Join(newcomer);
  ASSERT_THAT(h.Events<StillWaiting>(newcomer.stream), SizeIs(1));
  const StillWaiting event = h.Events<StillWaiting>(newcomer.stream)[0];
  EXPECT_THAT(event.text, HasSubstr("waits for 1 of 2 members to attach again: rank 1"));
  EXPECT_THAT(*event.missing, SizeIs(1));
}

// The list of awaited members is as long as the job is large, and there may be as many newcomers.
// So the newcomers share one copy.
TEST(RecoveryTest, NewcomersShareOneListOfTheAwaited) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  std::vector<Process> early = {h.Attached(), h.Attached()};
  for (Process& newcomer : early) h.Join(newcomer);
  h.Recover(p[0], 0);  // their joins are deferred in this step
  std::vector<Process> late = {h.Attached(), h.Attached()};
  for (Process& newcomer : late) h.Join(newcomer);
  h.Advance(absl::Seconds(1));
  for (const std::vector<Process>& newcomers : {early, late}) {
    const auto first = h.Events<StillWaiting>(newcomers[0].stream);
    const auto second = h.Events<StillWaiting>(newcomers[1].stream);
    ASSERT_THAT(first, SizeIs(1));
    ASSERT_THAT(second, SizeIs(1));
    EXPECT_EQ(first[0].missing, second[0].missing) << "each has a list of its own";
  }
}

TEST(RecoveryTest, ANewcomerThatGaveUpIsNotToldWhatItWaitedFor) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.Restart();
  h.Recover(p[0], 0);
  Process first = h.Attached();
  h.Join(first);
  Process second = h.Attached();
  h.Cancel(h.Join(second));
  h.Advance(absl::Seconds(1));
  EXPECT_THAT(h.Events<StillWaiting>(second.stream), IsEmpty());
}

std::string ActivityOf(Harness& h, size_t member) {
  return h.coordinator().GetStatus(h.now()).members.at(member).activity;
}

TEST(RecoveryTest, ADeferredCallThatIsServedAtOnceIsNotShownAsWaiting) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  Claim claim = h.ClaimOf(p[0], 0);
  claim.held.push_back({"work", LeaseScope::kJob, 7, 1});
  h.Attach(p[0], claim);
  const WaiterId complete = h.Complete(p[0], "work", 7, "done");
  EXPECT_THAT(ActivityOf(h, 0), HasSubstr("in CompleteLease('work')"));
  h.Recover(p[1], 0);
  EXPECT_EQ(h.StatusOf(complete), absl::OkStatus());
  h.Advance(absl::Minutes(20));
  EXPECT_EQ(ActivityOf(h, 0), "last completed CompleteLease('work') 20m ago");
}

TEST(RecoveryTest, ADeferredCallThatIsRefusedIsNotShownAsWaiting) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Restart();
  h.Recover(p[0], 0);
  const WaiterId complete = h.Complete(p[0], "work", 7, "done");
  h.Recover(p[1], 0);
  EXPECT_FALSE(h.StatusOf(complete).ok());
  h.Advance(absl::Minutes(20));
  EXPECT_EQ(ActivityOf(h, 0), "last called CompleteLease('work'), which ended 20m ago");
}

}  // namespace
}  // namespace muster::core
