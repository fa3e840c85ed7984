// Restarts, new epochs, stops and stopped processes, over the wire.

#include <future>
#include <string>
#include <vector>

#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Payloads(const absl::StatusOr<v1::AllGatherResponse>& response) {
  EXPECT_THAT(response, IsOk());
  return {response->payloads().begin(), response->payloads().end()};
}

// Returns a server that replaces another one, which ends without a word to its members.
std::unique_ptr<service::Server> Successor(std::unique_ptr<service::Server> server) {
  service::ServerOptions options = TestOptions();
  options.listen_address = server->address();
  server.reset();
  return StartServer(std::move(options));
}

TEST(RecoveryTest, ARestartedServerGoesOnWithTheEpochOfItsMembers) {
  auto server = StartServer();
  TestJob job(server->address(), 3);
  EXPECT_THAT(job.All([](TestMember& m) { return m.Barrier("before"); }), Each(IsOk()));
  server = Successor(std::move(server));
  EXPECT_THAT(job.All([](TestMember& m) { return m.AttachAgain(); }), Each(IsOk()));
  const auto gathered =
      job.All([](TestMember& m) { return m.AllGather(std::to_string(m.rank())); });
  for (const auto& answer : gathered) EXPECT_THAT(Payloads(answer), ElementsAre("0", "1", "2"));
}

TEST(RecoveryTest, OneMemberIsAskedForTheRoster) {
  auto server = StartServer();
  TestJob job(server->address(), 2);
  server = Successor(std::move(server));
  job[0].Disconnect();
  v1::AttachRequest claim = job[0].AttachRequest();
  *claim.mutable_claim() = job[0].Claim();
  claim.set_attempt(100);
  grpc::ClientContext context;
  const auto asked = job[0].stub()->Attach(&context, claim);
  v1::AttachResponse event;
  ASSERT_TRUE(asked->Read(&event)) << FromGrpc(asked->Finish());
  EXPECT_EQ(event.need_roster().epoch().number(), claim.claim().epoch().number());
  context.TryCancel();
  EXPECT_THAT(job[1].AttachAgain(), IsOk());
  EXPECT_TRUE(job[1].attached().recovering());
}

TEST(RecoveryTest, AResultThatWasLostIsMadeFromContributions) {
  auto server = StartServer();
  TestJob job(server->address(), 2);
  EXPECT_THAT(job.All([](TestMember& m) { return m.AllGather(std::to_string(m.rank())); }),
              Each(IsOk()));
  job[1].set_completed(0);  // its answer was lost
  server = Successor(std::move(server));
  EXPECT_THAT(job.All([](TestMember& m) { return m.AttachAgain(); }), Each(IsOk()));
  auto late = std::async(std::launch::async, [&job] { return job[1].AllGather("1"); });
  const absl::StatusOr<v1::AttachResponse> event = job[0].NextEvent();
  ASSERT_THAT(event, IsOk());
  ASSERT_TRUE(event->has_need_contribution()) << event->DebugString();
  EXPECT_EQ(event->need_contribution().sequence(), 0u);
  job[0].set_completed(0);
  EXPECT_THAT(job[0].AllGather("0"), IsOk());
  EXPECT_THAT(Payloads(late.get()), ElementsAre("0", "1"));
}

TEST(RecoveryTest, StatusNamesAwaitedMembers) {
  auto server = StartServer();
  TestJob job(server->address(), 2);
  server = Successor(std::move(server));
  ASSERT_THAT(job[0].AttachAgain(), IsOk());
  EXPECT_TRUE(job[0].attached().recovering());
  EXPECT_EQ(job[0].attached().recovery_grace().seconds(), 60);
  const absl::StatusOr<v1::GetStatusResponse> status = GetStatus(job[0].stub());
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->state(), v1::JOB_STATE_RECOVERING);
  EXPECT_THAT(status->reason(), HasSubstr("waits for 1 of 2 members to attach again: rank 1"));
  EXPECT_EQ(status->members(1).state(), v1::MEMBER_STATE_AWAITED);
}

TEST(RecoveryTest, AMalformedClaimIsRefused) {
  const auto server = StartServer();
  TestMember member(server->address());
  v1::AttachRequest request = member.AttachRequest();
  request.mutable_claim()->mutable_epoch()->set_number(1);
  request.mutable_claim()->set_rank(1);
  *request.mutable_claim()->add_roster()->mutable_member() = member.identity();
  EXPECT_THAT(member.Attach(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("rank 1 is not in its roster")));
  request.mutable_claim()->clear_epoch();
  request.mutable_claim()->add_held_leases()->set_name("work");
  EXPECT_THAT(member.Attach(request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("scope")));
}

TEST(ElasticTest, SurvivorsAndANewcomerFormTheNextEpoch) {
  service::ServerOptions options = TestOptions();
  options.core.min_world_size = 2;
  options.core.max_world_size = 3;
  options.core.settle = absl::Minutes(1);  // long enough for the newcomer, who fills the last place
  const auto server = StartServer(std::move(options));
  TestJob job(server->address(), 3);
  job[1].Disconnect();
  for (int rank : {0, 2}) {
    const absl::StatusOr<v1::AttachResponse> event = job[rank].NextEvent();
    ASSERT_THAT(event, IsOk());
    ASSERT_TRUE(event->has_epoch_broken());
    EXPECT_TRUE(event->epoch_broken().may_rejoin());
    EXPECT_THAT(event->epoch_broken().failures(0).activity(), HasSubstr("no call so far"));
  }
  auto first = std::async(std::launch::async, [&job] { return job[0].Rejoin(); });
  auto last = std::async(std::launch::async, [&job] { return job[2].Rejoin(); });
  TestMember newcomer(server->address());
  ASSERT_THAT(newcomer.Attach(), IsOk());
  const absl::StatusOr<v1::JoinResponse> joined = newcomer.Join(3);
  ASSERT_THAT(joined, IsOk());
  EXPECT_EQ(joined->rank(), 1u);
  EXPECT_FALSE(joined->roster(1).has_previous_rank());
  EXPECT_EQ(joined->roster(2).previous_rank(), 2u);
  EXPECT_THAT(first.get(), IsOk());
  EXPECT_THAT(last.get(), IsOk());
}

TEST(StoppingTest, TheAnswersOfOneCollectiveAnnounceTheStop) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  v1::RequestStopRequest request;
  *request.mutable_call() = job[1].CallContext();
  EXPECT_THAT(job[1].Call(&Stub::RequestStop, request), IsOk());
  for (const auto& answer : job.All([](TestMember& m) { return m.AllGather("x"); })) {
    ASSERT_THAT(answer, IsOk());
    EXPECT_TRUE(answer->stop_requested());
  }
}

TEST(ProcessStateTest, AStoppedProcessIsShownAsStopped) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  v1::ReportProcessStateRequest request;
  request.set_job_id("default");
  request.set_secret(job[1].secret());
  EXPECT_THAT(job[0].Call(&Stub::ReportProcessState, request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("state")));
  request.set_state(v1::PROCESS_STATE_STOPPED);
  EXPECT_THAT(job[0].Call(&Stub::ReportProcessState, request), IsOk());
  const absl::StatusOr<v1::GetStatusResponse> status = GetStatus(job[0].stub());
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->members(1).state(), v1::MEMBER_STATE_STOPPED);
}

TEST(StallTest, WaitingMembersLearnTheMissingRanks) {
  service::ServerOptions options = TestOptions();
  options.core.stall_warning = absl::Milliseconds(10);
  const auto server = StartServer(std::move(options));
  TestJob job(server->address(), 2);
  auto barrier = std::async(std::launch::async, [&job] { return job[0].Barrier("x"); });
  absl::StatusOr<v1::AttachResponse> event = job[0].NextEvent();
  while (event.ok() && event->still_waiting().operation() == "Join") event = job[0].NextEvent();
  ASSERT_THAT(event, IsOk());
  EXPECT_THAT(event->still_waiting().text(),
              AllOf(HasSubstr("Barrier('x') op 0 of the world has waited"), HasSubstr("rank 1")));
  ASSERT_EQ(event->still_waiting().missing_size(), 1);
  EXPECT_EQ(event->still_waiting().missing(0).rank(), 1u);
  EXPECT_THAT(job[1].Barrier("x"), IsOk());
  EXPECT_THAT(barrier.get(), IsOk());
}

}  // namespace
}  // namespace muster::testing
