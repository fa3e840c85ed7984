// Leases over real gRPC: grants, waits, outcomes, and the status that shows them.

#include <future>

#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

using Outcome = absl::StatusOr<v1::AcquireLeaseResponse>;

std::future<Outcome> AcquireInBackground(TestMember& member) {
  return std::async(std::launch::async, [&member] { return member.AcquireLease("unpack", 1); });
}

void AwaitWaiters(TestMember& member, uint32_t waiters) {
  AwaitStatus(member.stub(), [waiters](const v1::GetStatusResponse& status) {
    return status.leases_size() == 1 && status.leases(0).waiters() == waiters;
  });
}

TEST(LeasesTest, TheFirstHoldsAndTheOthersGetItsResult) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  const Outcome held = job[1].AcquireLease("unpack", 1);
  ASSERT_THAT(held, IsOk());
  ASSERT_TRUE(held->has_granted());
  auto parked = AcquireInBackground(job[0]);
  AwaitWaiters(job[0], 1);
  ASSERT_THAT(job[1].CompleteLease("unpack", held->granted().token(), "/data"), IsOk());
  for (const Outcome& other : {parked.get(), job[2].AcquireLease("unpack", 1)}) {
    ASSERT_THAT(other, IsOk());
    EXPECT_EQ(other->completed().value(), "/data");
    EXPECT_EQ(other->completed().token(), held->granted().token());
  }
}

TEST(LeasesTest, AnErrorCompletesALeaseAsAValueDoes) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  const Outcome held = job[0].AcquireLease("unpack", 1);
  ASSERT_THAT(held, IsOk());
  v1::CompleteLeaseRequest request;
  *request.mutable_call() = job[0].CallContext();
  request.set_name("unpack");
  request.set_scope(v1::LEASE_SCOPE_JOB);
  request.mutable_result()->set_token(held->granted().token());
  request.mutable_result()->mutable_error()->set_code(grpc::StatusCode::NOT_FOUND);
  request.mutable_result()->mutable_error()->set_message("no such archive");
  ASSERT_THAT(job[0].Call(&Stub::CompleteLease, request), IsOk());
  const Outcome other = job[1].AcquireLease("unpack", 1);
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(other->completed().error().code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(other->completed().error().message(), "no such archive");
}

TEST(LeasesTest, AnAbandonedGrantGoesToTheNextWaiterWithAHigherToken) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  const Outcome first = job[0].AcquireLease("unpack", 1);
  ASSERT_THAT(first, IsOk());
  auto parked = AcquireInBackground(job[1]);
  AwaitWaiters(job[0], 1);
  ASSERT_THAT(job[0].AbandonLease("unpack", 1), IsOk());
  const Outcome second = parked.get();
  ASSERT_THAT(second, IsOk());
  EXPECT_GT(second->granted().token(), first->granted().token());
  EXPECT_THAT(job[0].CompleteLease("unpack", first->granted().token(), "late"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("token")));
}

TEST(LeasesTest, AWaitThatEndsNamesTheHolder) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  ASSERT_THAT(job[0].AcquireLease("unpack", 1), IsOk());
  job[1].set_wait_timeout(absl::Milliseconds(20));
  EXPECT_THAT(job[1].AcquireLease("unpack", 1),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("held by rank 0")));
}

TEST(LeasesTest, StatusShowsTheHolder) {
  const auto server = StartServer();
  TestJob job(server->address(), 1);
  const Outcome held = job[0].AcquireLease("unpack", 1);
  ASSERT_THAT(held, IsOk());
  const auto status = GetStatus(job[0].stub());
  ASSERT_THAT(status, IsOk());
  ASSERT_EQ(status->leases_size(), 1);
  EXPECT_EQ(status->leases(0).name(), "unpack");
  EXPECT_EQ(status->leases(0).scope(), v1::LEASE_SCOPE_JOB);
  EXPECT_EQ(status->leases(0).holder().pid(), job[0].identity().pid());
  EXPECT_EQ(status->leases(0).holder_rank(), 0);
  EXPECT_EQ(status->leases(0).token(), held->granted().token());
  EXPECT_FALSE(status->leases(0).completed());
}

TEST(LeasesTest, StatusListsCompletedLeasesOnlyOnRequest) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  const auto granted = job[0].AcquireLease("done", 1);
  ASSERT_THAT(granted, IsOk());
  ASSERT_THAT(job[0].CompleteLease("done", granted->granted().token(), "result"), IsOk());
  ASSERT_THAT(job[0].AcquireLease("held", 2), IsOk());
  v1::GetStatusRequest request;
  const auto open = job[0].Call(&Stub::GetStatus, request);
  ASSERT_THAT(open, IsOk());
  ASSERT_EQ(open->leases_size(), 1);
  EXPECT_EQ(open->leases(0).name(), "held");
  EXPECT_FALSE(open->brief());
  request.set_with_completed_leases(true);
  const auto all = job[0].Call(&Stub::GetStatus, request);
  ASSERT_THAT(all, IsOk());
  EXPECT_EQ(all->leases_size(), 2);
  request.set_brief(true);
  request.add_incarnations(job[1].identity().incarnation());
  const auto brief = job[0].Call(&Stub::GetStatus, request);
  ASSERT_THAT(brief, IsOk());
  EXPECT_TRUE(brief->brief());
  EXPECT_EQ(brief->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(brief->leases_size(), 0);
  ASSERT_EQ(brief->members_size(), 1);
  EXPECT_EQ(brief->members(0).rank(), 1u);
  for (int i = 0; i < 4096; ++i) request.add_incarnations("");
  EXPECT_THAT(job[0].Call(&Stub::GetStatus, request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4097 entries")));
}

}  // namespace
}  // namespace muster::testing
