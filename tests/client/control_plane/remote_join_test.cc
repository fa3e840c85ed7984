// Tests of joining. The test plays the coordinator by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/client/control_plane/remote_test.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;

using RemoteJoinTest = RemoteTest;

TEST_F(RemoteJoinTest, JoinSendsTheIdentity) {
  options_.world_size = 2;
  options_.rank = 1;
  options_.topology = "zone/rack";
  auto joining = StartJoin();
  const auto stream = coordinator_.NextStream();
  EXPECT_EQ(stream->request.job_id(), "run");
  EXPECT_EQ(stream->request.member().incarnation().size(), 16);
  EXPECT_EQ(stream->request.protocol_version(), 1);
  EXPECT_FALSE(stream->request.has_claim());
  stream->Accept(5);
  v1::JoinRequest request;
  const auto call = coordinator_.Next(&request);
  EXPECT_EQ(request.world_size(), 2);
  EXPECT_EQ(request.rank(), 1);
  EXPECT_FALSE(request.has_local_rank());
  EXPECT_EQ(request.topology(), "zone/rack");
  EXPECT_EQ(request.call().job_id(), "run");
  EXPECT_EQ(request.call().session().counter(), 5);
  EXPECT_GT(request.call().wait_timeout().seconds(), 50);
  call->Reply(absl::OkStatus(), ThePlace());
  const auto job = *joining.get();
  EXPECT_EQ(job->rank(), 1);
  EXPECT_EQ(job->world_size(), 2);
  EXPECT_EQ(job->local_world_size(), 2);
  EXPECT_EQ(job->num_nodes(), 1);
  EXPECT_TRUE(job->is_distributed());
  EXPECT_EQ(job->world().local_address(), "127.0.0.1");
}

TEST_F(RemoteJoinTest, JoinTriesAgainWhileTheCoordinatorIsAway) {
  auto joining = StartJoin();
  coordinator_.NextStream()->End(absl::UnavailableError("connection refused"));
  coordinator_.NextStream()->End(absl::UnavailableError("connection refused"));
  coordinator_.NextStream()->Accept(1);
  coordinator_.NextCall()->Reply(absl::UnavailableError("the daemon is starting"));
  coordinator_.NextCall()->Reply(absl::OkStatus(), ThePlace());
  EXPECT_TRUE(joining.get().ok());
}

TEST_F(RemoteJoinTest, JoinThatIsNotRegisteredInTimeNamesThePhase) {
  options_.timeout = absl::Milliseconds(200);
  const absl::Status status = StartJoin().get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("joining job 'run': timed out after 200ms while "
                                         "registering with the coordinator at fake:1"));
}

TEST_F(RemoteJoinTest, JoinNamesTheMissingRanks) {
  auto joining = StartJoin();
  coordinator_.NextStream()->Accept(1);
  coordinator_.NextCall()->Reply(absl::DeadlineExceededError("1 of 2 members have joined"));
  const absl::Status status = joining.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("waiting for members: 1 of 2 members have joined"));
}

TEST_F(RemoteJoinTest, JoinRefusalsKeepTheirCode) {
  auto joining = StartJoin();
  coordinator_.NextStream()->End(absl::NotFoundError("this is the coordinator of job 'other'"));
  absl::Status status = joining.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("registering with fake:1: this is the coordinator of"));

  joining = StartJoin();
  coordinator_.NextStream()->Accept(1);
  coordinator_.NextCall()->Reply(absl::AlreadyExistsError("rank 1 is taken"));
  status = joining.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Message(status), "rank 1 is taken");
}

TEST_F(RemoteJoinTest, AServerThatIsNotMusterdIsRefused) {
  auto joining = StartJoin();
  coordinator_.NextStream()->End(absl::UnimplementedError("unknown service"));
  EXPECT_EQ(joining.get().status().code(), absl::StatusCode::kFailedPrecondition);

  joining = StartJoin();
  v1::AttachResponse response;
  response.mutable_attached()->set_daemon_version("9.0");
  coordinator_.NextStream()->Send(response);
  const absl::Status status = joining.get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("this SDK is 0.1.0 and speaks protocol 1"));
  EXPECT_THAT(Message(status), HasSubstr("'9.0'"));
}

TEST_F(RemoteJoinTest, JoinCanBeCancelled) {
  Cancellation cancellation;
  auto joining = StartJoin(&cancellation);
  coordinator_.NextStream();
  cancellation.Cancel();
  EXPECT_EQ(joining.get().status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace muster::internal
