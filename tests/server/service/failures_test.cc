// Time-outs, cancels and losses over real gRPC, and the status that shows them.

#include <future>
#include <string>
#include <thread>

#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool AnyCallWaits(const v1::GetStatusResponse& status) {
  return status.pending_collectives_size() == 1;
}
bool NoCallWaits(const v1::GetStatusResponse& status) {
  return status.pending_collectives_size() == 0;
}

std::future<absl::Status> BarrierInBackground(TestMember& member) {
  return std::async(std::launch::async, [&member] { return member.Barrier("step"); });
}

TEST(FailuresTest, ATimeoutNamesTheMissingRanksAndTheCallMayBeRepeated) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  job[1].set_wait_timeout(absl::Milliseconds(20));
  EXPECT_THAT(job[1].Barrier("step"), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                               AllOf(HasSubstr("ranks 0,2"), HasSubstr("'step'"))));
  job[1].set_wait_timeout(absl::Seconds(60));
  EXPECT_THAT(job.All([](TestMember& m) { return m.Barrier("step"); }), Each(IsOk()));
}

TEST(FailuresTest, AJoinThatTimesOutSaysHowManyHaveCome) {
  const auto server = StartServer();
  TestMember member(server->address());
  ASSERT_THAT(member.Attach(), IsOk());
  member.set_wait_timeout(absl::Milliseconds(20));
  EXPECT_THAT(member.Join(3), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("1 of 3")));
}

TEST(FailuresTest, ACancelledCallIsWithdrawnAndMayBeRepeated) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  grpc::ClientContext context;
  v1::BarrierRequest request;
  *request.mutable_context() = job[0].CollectiveContext();
  request.mutable_context()->set_label("step");
  std::thread call([&] {
    v1::BarrierResponse response;
    EXPECT_EQ(job[0].stub()->Barrier(&context, request, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  AwaitStatus(job[0].stub(), AnyCallWaits);
  context.TryCancel();
  call.join();
  AwaitStatus(job[0].stub(), NoCallWaits);
  EXPECT_THAT(job.All([](TestMember& m) { return m.Barrier("step"); }), Each(IsOk()));
}

TEST(FailuresTest, ManyCancelsRacingWithAnswersLeaveTheGroupInStep) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext context;
    v1::BarrierRequest request;
    *request.mutable_context() = job[0].CollectiveContext();
    std::thread cancel([&context] { context.TryCancel(); });
    std::thread other([&job] { EXPECT_THAT(job[1].Barrier(), IsOk()); });
    v1::BarrierResponse response;
    job[0].stub()->Barrier(&context, request, &response);
    cancel.join();
    // Whether or not the first send took effect, the same content gets the same answer.
    EXPECT_THAT(job[0].Barrier(), IsOk());
    other.join();
  }
}

TEST(FailuresTest, ADisconnectedMemberIsLostAndOthersAreNotified) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  auto parked = BarrierInBackground(job[0]);
  AwaitStatus(job[0].stub(), AnyCallWaits);
  job[2].Disconnect();
  const auto who = AllOf(HasSubstr("rank 2"), HasSubstr("node-a"), HasSubstr("lost"));
  EXPECT_THAT(parked.get(), StatusIs(absl::StatusCode::kAborted, who));
  EXPECT_THAT(job[1].Barrier("step"), StatusIs(absl::StatusCode::kAborted, who));
  for (int rank : {0, 1}) {
    const absl::StatusOr<v1::AttachResponse> event = job[rank].NextEvent();
    ASSERT_THAT(event, IsOk());
    ASSERT_TRUE(event->has_epoch_broken()) << event->DebugString();
    EXPECT_EQ(event->epoch_broken().epoch().nonce(), job[rank].epoch().nonce());
    EXPECT_THAT(event->epoch_broken().reason(), who);
    ASSERT_EQ(event->epoch_broken().failures_size(), 1);
    EXPECT_EQ(event->epoch_broken().failures(0).rank(), 2);
  }
  ASSERT_TRUE(server->Outcome().has_value());
  EXPECT_THAT(*server->Outcome(), StatusIs(absl::StatusCode::kAborted, who));
}

TEST(FailuresTest, AMemberThatAttachesAgainWithinTheGraceIsNotLost) {
  service::ServerOptions options = TestOptions();
  options.core.member_grace = absl::Hours(1);
  const auto server = StartServer(options);
  TestJob job(server->address(), 2);
  const uint64_t before = job[1].attached().session().counter();
  job[1].Disconnect();
  AwaitStatus(job[0].stub(), [](const v1::GetStatusResponse& status) {
    return status.members(1).state() == v1::MEMBER_STATE_DETACHED;
  });
  ASSERT_THAT(job[1].Attach(), IsOk());
  EXPECT_GT(job[1].attached().session().counter(), before);
  EXPECT_THAT(job.All([](TestMember& m) { return m.Barrier(); }), Each(IsOk()));
}

TEST(FailuresTest, ANewAttachEndsTheOlderStream) {
  const auto server = StartServer();
  TestMember member(server->address());
  ASSERT_THAT(member.Attach(), IsOk());
  grpc::ClientContext context;
  const auto newer = member.stub()->Attach(&context, member.AttachRequest());
  v1::AttachResponse first;
  ASSERT_TRUE(newer->Read(&first));
  EXPECT_THAT(member.NextEvent(), StatusIs(absl::StatusCode::kAborted, HasSubstr("newer session")));
  context.TryCancel();
}

TEST(FailuresTest, AReportedExitSkipsTheGrace) {
  service::ServerOptions options = TestOptions();
  options.core.member_grace = absl::Hours(1);
  const auto server = StartServer(options);
  TestJob job(server->address(), 2);
  v1::ReportExitRequest report;
  report.set_job_id("default");
  report.set_secret(job[1].secret());
  report.set_signal(9);
  ASSERT_THAT(job[0].Call(&Stub::ReportExit, report), IsOk());
  EXPECT_THAT(job[0].Barrier(),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("rank 1"), HasSubstr("killed by signal 9 (SIGKILL)"))));
  EXPECT_THAT(job[1].NextEvent(), StatusIs(absl::StatusCode::kAborted, HasSubstr("SIGKILL")));
}

TEST(FailuresTest, StatusTellsGroupsOfOneNameApartByTheirRanks) {
  const auto server = StartServer();
  TestJob job(server->address(), 4);
  const auto meet = [&job](int rank, uint32_t first, uint32_t second) {
    v1::BarrierRequest request;
    *request.mutable_context() = job[rank].CollectiveContext();
    request.mutable_context()->mutable_group()->set_name("pair");
    request.mutable_context()->mutable_group()->add_ranks(first);
    request.mutable_context()->mutable_group()->add_ranks(second);
    return std::async(std::launch::async, [&job, rank, request] {
      return job[rank].Call(&Stub::Barrier, request).status();
    });
  };
  auto one = meet(0, 1, 0);
  auto other = meet(2, 2, 3);
  v1::GetStatusResponse both;
  AwaitStatus(job[0].stub(), [&both](const v1::GetStatusResponse& status) {
    both = status;
    return status.pending_collectives_size() == 2;
  });
  EXPECT_EQ(both.pending_collectives(0).group().name(), "pair");
  EXPECT_THAT(both.pending_collectives(0).group().ranks(), ElementsAre(1, 0));
  EXPECT_THAT(both.pending_collectives(0).missing_ranks(), ElementsAre(1));
  EXPECT_EQ(both.pending_collectives(1).group().name(), "pair");
  EXPECT_THAT(both.pending_collectives(1).group().ranks(), ElementsAre(2, 3));
  EXPECT_THAT(both.pending_collectives(1).missing_ranks(), ElementsAre(3));
  EXPECT_THAT(meet(1, 1, 0).get(), IsOk());
  EXPECT_THAT(meet(3, 2, 3).get(), IsOk());
  EXPECT_THAT(one.get(), IsOk());
  EXPECT_THAT(other.get(), IsOk());
}

TEST(FailuresTest, StatusShowsMembersWaitersAndFailures) {
  service::ServerOptions options = TestOptions();
  options.core.member_grace = absl::Hours(1);
  const auto server = StartServer(options);
  TestJob job(server->address(), 3);
  auto parked = BarrierInBackground(job[1]);
  AwaitStatus(job[0].stub(), AnyCallWaits);
  const auto running = GetStatus(job[0].stub());
  ASSERT_THAT(running, IsOk());
  EXPECT_EQ(running->job_id(), "default");
  EXPECT_EQ(running->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(running->world_size(), 3);
  EXPECT_EQ(running->epoch().nonce(), job[0].epoch().nonce());
  EXPECT_THAT(running->members(1).waiting_in(), HasSubstr("Barrier"));
  EXPECT_TRUE(running->members(1).has_waiting_for());
  EXPECT_EQ(running->members(1).member().start_time().seconds(),
            job[1].identity().start_time().seconds());
  EXPECT_FALSE(running->members(0).has_waiting_for());
  EXPECT_THAT(running->pending_collectives(0).arrived_ranks(), ::testing::ElementsAre(1));
  EXPECT_THAT(running->pending_collectives(0).missing_ranks(), ::testing::ElementsAre(0, 2));
  v1::ReportExitRequest report;
  report.set_job_id("default");
  report.set_secret(job[2].secret());
  report.set_exit_code(3);
  ASSERT_THAT(job[0].Call(&Stub::ReportExit, report), IsOk());
  EXPECT_FALSE(parked.get().ok());
  const auto failed = GetStatus(job[0].stub());
  ASSERT_THAT(failed, IsOk());
  EXPECT_EQ(failed->state(), v1::JOB_STATE_FAILED);
  ASSERT_EQ(failed->recent_failures_size(), 1);
  EXPECT_EQ(failed->recent_failures(0).rank(), 2);
  EXPECT_EQ(failed->recent_failures(0).cause(), "exited with status 3");
}

TEST(FailuresTest, TheTimelineIsSentOnRequest) {
  const auto server = StartServer(TestOptions());
  TestJob job(server->address(), 2);
  v1::ReportExitRequest report;
  report.set_job_id("default");
  report.set_secret(job[1].secret());
  report.set_exit_code(3);
  ASSERT_THAT(job[0].Call(&Stub::ReportExit, report), IsOk());
  const auto brief = GetStatus(job[0].stub());
  ASSERT_THAT(brief, IsOk());
  EXPECT_THAT(brief->timeline(), ::testing::IsEmpty());
  const auto status = GetStatus(job[0].stub(), "", /*with_timeline=*/true);
  ASSERT_THAT(status, IsOk());
  ASSERT_GE(status->timeline_size(), 2);
  const v1::TimelineEntry& formed = status->timeline(status->timeline_size() - 2);
  EXPECT_THAT(formed.text(), HasSubstr("formed: 2 members"));
  EXPECT_EQ(formed.severity(), v1::SEVERITY_INFO);
  const v1::TimelineEntry& lost = *status->timeline().rbegin();
  EXPECT_THAT(lost.text(), HasSubstr("exited with status 3"));
  EXPECT_EQ(lost.severity(), v1::SEVERITY_ERROR);
  EXPECT_TRUE(lost.has_ago());
}

}  // namespace
}  // namespace muster::testing
