// Sessions: streams that end, reconnects within the grace, losses and exit reports.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Text(const Harness& h, WaiterId id) { return std::string(h.StatusOf(id).message()); }

TEST(SessionsTest, AMemberThatStaysAwayIsLostAndEverybodyIsTold) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  const WaiterId b0 = h.Barrier(p[0], "step");
  h.CloseStream(p[2]);
  EXPECT_TRUE(h.Parked(b0)) << "the grace is running";
  h.Advance(absl::Seconds(2));
  EXPECT_EQ(h.StatusOf(b0).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Text(h, b0),
              AllOf(HasSubstr("job 'train': rank 2 (node 'n0', host host-n0, pid 1003) was lost"),
                    HasSubstr("did not come back within 2s")));
  ASSERT_THAT(h.BrokenEvents(p[1].stream), SizeIs(1));
  const EpochBroken event = h.BrokenEvents(p[1].stream)[0];
  EXPECT_EQ(event.epoch, p[1].epoch);
  EXPECT_EQ(event.failures.at(0).rank, 2u);
  EXPECT_EQ(event.reason, Text(h, b0));
  EXPECT_EQ(Text(h, h.Barrier(p[1])), Text(h, b0)) << "later calls say the same";
  EXPECT_EQ(h.coordinator().Outcome()->code(), absl::StatusCode::kAborted);
}

TEST(SessionsTest, AttachingAgainWithinTheGraceHeals) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[1]);
  h.Advance(absl::Milliseconds(1999));
  h.Attach(p[1]);
  h.Advance(absl::Minutes(5));
  h.Barrier(p[0]);
  EXPECT_TRUE(h.StatusOf(h.Barrier(p[1])).ok());
}

TEST(SessionsTest, ANewSessionEndsTheOlderOneAndItsCalls) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const Process before = p[1];
  const WaiterId parked = h.Barrier(p[1]);
  h.Attach(p[1]);
  EXPECT_EQ(h.EndOf(before.stream)->code(), absl::StatusCode::kAborted);
  EXPECT_EQ(h.StatusOf(parked).code(), absl::StatusCode::kUnavailable);
  Process old = before;
  EXPECT_EQ(h.StatusOf(h.Barrier(old)).code(), absl::StatusCode::kAborted);
  --p[1].next[""];
  h.Barrier(p[1]);
  EXPECT_TRUE(h.StatusOf(h.Barrier(p[0])).ok());
}

TEST(SessionsTest, TheCloseOfAnOlderStreamChangesNothing) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  Process before = p[1];
  h.Attach(p[1]);
  h.CloseStream(before);
  h.Advance(absl::Minutes(1));
  h.Barrier(p[0]);
  EXPECT_TRUE(h.StatusOf(h.Barrier(p[1])).ok());
}

TEST(SessionsTest, ALateAttachDoesNotEndANewerSession) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  AttachRequest late = h.AttachOf(p[1]);
  late.attempt = 1;
  const WaiterId stream = h.Attach(late);
  EXPECT_EQ(h.EndOf(stream)->code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(h.EndOf(p[1].stream).has_value());
}

TEST(SessionsTest, AnExitReportSkipsTheGraceAndSaysHow) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId b0 = h.Barrier(p[0]);
  h.CloseStream(p[1]);
  h.ReportExit(p[1], /*signaled=*/true, 9);
  EXPECT_THAT(Text(h, b0), HasSubstr("killed by signal 9 (SIGKILL)"));
}

TEST(SessionsTest, EndingWithStatusZeroWithoutLeavingIsALoss) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.ReportExit(p[1], false, 0);
  EXPECT_THAT(Text(h, h.Barrier(p[0])),
              HasSubstr("ended with 0 without Leave(); call job->Leave() before main returns"));
}

TEST(SessionsTest, AnExitReportOfAnUnknownProcessIsAccepted) {
  Harness h(2);
  Process stranger = h.New();
  EXPECT_TRUE(h.StatusOf(h.ReportExit(stranger, false, 1)).ok());
}

TEST(SessionsTest, TheLostMembersLastCallIsNamed) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.Barrier(p[1], "load data");
  const WaiterId b0 = h.Barrier(p[0], "load data");
  EXPECT_TRUE(h.StatusOf(b0).ok());
  h.ReportExit(p[1], false, 3);
  EXPECT_THAT(Text(h, h.Barrier(p[0])),
              AllOf(HasSubstr("exited with status 3"), HasSubstr("Barrier('load data') op 0")));
}

TEST(SessionsTest, MembersLostTogetherAreNamedTogether) {
  Harness h(4);
  std::vector<Process> p = h.Formed(4);
  for (int rank : {1, 2, 3}) h.CloseStream(p[rank]);
  h.Advance(absl::Seconds(2));
  EXPECT_THAT(Text(h, h.Barrier(p[0])),
              AllOf(HasSubstr("rank 1 ("), HasSubstr("also lost: ranks 2-3")));
  EXPECT_THAT(h.BrokenEvents(p[0].stream).at(0).failures, SizeIs(3));
}

TEST(SessionsTest, ProcessesThatEndAfterTheFailureAreNotCounted) {
  Harness h(3);
  std::vector<Process> p = h.Formed(3);
  h.ReportExit(p[2], true, 11);
  h.CloseStream(p[0]);
  h.ReportExit(p[1], true, 15);
  h.Advance(absl::Minutes(1));
  EXPECT_THAT(h.coordinator().GetStatus(h.now()).recent_failures, SizeIs(1));
}

TEST(SessionsTest, ALostProcessIsToldSoAndCannotComeBack) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[1]);
  h.Advance(absl::Seconds(3));
  EXPECT_THAT(Text(h, h.Barrier(p[1])), HasSubstr("this process, rank 1"));
  const WaiterId stream = h.Attach(p[1]);
  EXPECT_EQ(h.EndOf(stream)->code(), absl::StatusCode::kAborted);
}

TEST(SessionsTest, AttachChecksItsArguments) {
  Harness h(2);
  const Process p = h.New();
  const auto refuse = [&](const std::function<void(AttachRequest&)>& spoil) {
    AttachRequest request = h.AttachOf(p);
    spoil(request);
    return h.EndOf(h.Attach(request)).value_or(absl::OkStatus());
  };
  const absl::Status job = refuse([](auto& r) { r.job_id = "other"; });
  EXPECT_EQ(job.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(job.message()), HasSubstr("serves job 'train', not 'other'"));
  EXPECT_EQ(refuse([](auto& r) { r.job_id = ""; }).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refuse([](auto& r) { r.member.incarnation = "short"; }).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refuse([](auto& r) { r.member.node_id = ""; }).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refuse([](auto& r) { r.member.node_id = std::string(300, 'x'); }).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refuse([](auto& r) { r.member.hostname = "a\x01"; }).code(),
            absl::StatusCode::kInvalidArgument);
  const absl::Status version = refuse([](auto& r) { r.protocol_version = 9; });
  EXPECT_EQ(version.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(version.message()),
              AllOf(HasSubstr("SDK 1.2.3 speaks protocol 9"), HasSubstr("musterd 1.2.3")));
}

TEST(SessionsTest, TheStatusHasTheCpusOfTheLatestAttach) {
  Harness h(1);
  std::vector<Process> p = h.Formed(1);
  const auto cpus = [&] { return h.coordinator().GetStatus(h.now()).members.at(0).cpus; };
  EXPECT_EQ(cpus(), "");
  AttachRequest request = h.AttachOf(p[0]);
  request.cpus = "0-3,8";
  h.Attach(p[0], request);
  EXPECT_EQ(cpus(), "0-3,8");
  request.cpus = std::string(513, '1');
  request.attempt = 1000;
  EXPECT_EQ(h.EndOf(h.Attach(request))->code(), absl::StatusCode::kInvalidArgument);
}

TEST(SessionsTest, AClaimOfAnEpochThatThisDaemonDoesNotHaveIsRefused) {
  Harness h(1);
  h.Formed(1);
  Process stranger = h.New();
  Claim claim;
  claim.epoch = EpochId{5, 6};
  claim.roster = std::make_shared<const Roster>(Roster{{stranger.identity, 0, 0, {}}});
  AttachRequest request = h.AttachOf(stranger);
  request.claim = std::make_shared<const Claim>(std::move(claim));
  const absl::Status status = *h.EndOf(h.Attach(request));
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("epoch 5 is over"));
}

TEST(SessionsTest, DrainingAnswersEveryWaiterAndEveryNewCall) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  const WaiterId b = h.Barrier(p[0]);
  h.Absorb(0, h.coordinator().Step(h.now(), 0, DrainBegun{"musterd is stopping (SIGTERM)"}));
  EXPECT_EQ(h.StatusOf(b).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(h, b), HasSubstr("musterd is stopping (SIGTERM)"));
  EXPECT_EQ(h.EndOf(p[1].stream)->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(h.StatusOf(h.Barrier(p[1])).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(h.coordinator().Quiet());
}

// Not even the end of a grace that began before.
TEST(SessionsTest, NothingIsDueWhileItDrains) {
  Harness h(2);
  std::vector<Process> p = h.Formed(2);
  h.CloseStream(p[0]);
  ASSERT_NE(h.coordinator().NextDeadline(), absl::InfiniteFuture());
  h.Absorb(0, h.coordinator().Step(h.now(), 0, DrainBegun{"musterd is stopping (SIGTERM)"}));
  EXPECT_EQ(h.coordinator().NextDeadline(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace muster::core
