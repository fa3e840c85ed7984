// Ranks of a node that arrive in one call, over real gRPC.
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodeCollectivesTest : public ::testing::Test {
 protected:
  // Returns one call for the ranks below `count`. Rank 0 is the sender.
  v1::NodeCollectiveRequest Together(int count, v1::CollectiveKind kind,
                                     const std::string& payload = "") {
    v1::NodeCollectiveRequest request;
    *request.mutable_context() = job_[0].CollectiveContext();
    request.set_kind(kind);
    for (int rank = 0; rank < count; ++rank) {
      const v1::CallContext call = job_[rank].CallContext();
      v1::NodeArrival* part = request.add_parts();
      *part->mutable_session() = call.session();
      part->set_attempt(call.attempt());
      if (kind != v1::COLLECTIVE_KIND_BARRIER) part->set_payload(absl::StrCat(payload, rank));
    }
    return request;
  }
  absl::StatusOr<v1::NodeCollectiveResponse> Send(const v1::NodeCollectiveRequest& request) {
    return job_[0].Call(&Stub::NodeCollective, request);
  }
  std::future<absl::StatusOr<v1::NodeCollectiveResponse>> Start(
      const v1::NodeCollectiveRequest& request) {
    return std::async(std::launch::async, [this, request] { return Send(request); });
  }
  void AwaitArrived(int count) {
    AwaitStatus(job_[0].stub(), [count](const v1::GetStatusResponse& status) {
      return status.pending_collectives_size() == 1 &&
             status.pending_collectives(0).arrived_ranks_size() == count;
    });
  }
  // Counts the current number as completed, by whichever call.
  void Next(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) job_[rank].set_completed(job_[rank].completed() + 1);
  }

  static service::ServerOptions Patient() {
    service::ServerOptions options = TestOptions();
    options.core.member_grace = absl::Minutes(1);
    return options;
  }

  const std::unique_ptr<service::Server> server_ = StartServer(Patient());
  TestJob job_{server_->address(), 3};
};

TEST_F(NodeCollectivesTest, AreAnnouncedInTheAnswerToAttach) {
  EXPECT_TRUE(job_[0].attached().node_collectives());
}

TEST_F(NodeCollectivesTest, CompleteTogetherWithSingleCalls) {
  for (int i = 0; i < 10; ++i) {
    auto node = Start(Together(2, v1::COLLECTIVE_KIND_BARRIER));
    ASSERT_THAT(job_[2].Barrier(), IsOk());
    const auto answer = node.get();
    ASSERT_THAT(answer, IsOk());
    EXPECT_THAT(answer->completed(), ElementsAre(0, 1));
    EXPECT_FALSE(answer->resend());
    Next(2);
  }
  const auto status = GetStatus(job_[0].stub());
  ASSERT_THAT(status, IsOk());
  EXPECT_THAT(status->node_collective_nodes(), ElementsAre("node-a"));
}

// Answers with large payloads refer to the same memory.
TEST_F(NodeCollectivesTest, AnswerWithTheBytesThatSingleCallsGet) {
  for (const size_t size : {size_t{10}, size_t{1} << 20}) {
    const std::string payload(size, 'x');
    auto node = Start(Together(2, v1::COLLECTIVE_KIND_ALL_GATHER, payload));
    const auto single = job_[2].AllGather(payload + "2");
    const auto answer = node.get();
    ASSERT_THAT(single, IsOk());
    ASSERT_THAT(answer, IsOk());
    EXPECT_THAT(answer->payloads(), ElementsAre(payload + "0", payload + "1", payload + "2"));
    EXPECT_THAT(single->payloads(), ElementsAre(payload + "0", payload + "1", payload + "2"));
    Next(2);
  }
}

TEST_F(NodeCollectivesTest, KeepTheirPartsWhenTheCallEnds) {
  grpc::ClientContext context;
  v1::NodeCollectiveResponse response;
  auto node = std::async(std::launch::async, [&] {
    return job_[0].stub()->NodeCollective(&context, Together(2, v1::COLLECTIVE_KIND_BARRIER),
                                          &response);
  });
  AwaitArrived(2);
  context.TryCancel();
  EXPECT_EQ(node.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_THAT(job_[2].Barrier(), IsOk()) << "all have arrived";
  EXPECT_THAT(job_[0].Barrier(), IsOk()) << "and are answered when they ask";
  EXPECT_THAT(job_[1].Barrier(), IsOk());
}

TEST_F(NodeCollectivesTest, LoseThePartsOfMembersWhoseConnectionEnds) {
  auto node = Start(Together(2, v1::COLLECTIVE_KIND_BARRIER));
  AwaitArrived(2);
  job_[1].Disconnect();
  AwaitArrived(1);
  ASSERT_THAT(job_[1].AttachAgain(), IsOk());
  auto other = std::async(std::launch::async, [this] { return job_[2].Barrier(); });
  EXPECT_THAT(job_[1].Barrier(), IsOk());
  EXPECT_THAT(other.get(), IsOk());
  const auto answer = node.get();
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->completed(), ElementsAre(0));
}

TEST_F(NodeCollectivesTest, AreResentSeparatelyIfAPartIsRejected) {
  v1::NodeCollectiveRequest twice = Together(2, v1::COLLECTIVE_KIND_BARRIER);
  *twice.add_parts() = twice.parts(1);
  const auto answer = Send(twice);
  ASSERT_THAT(answer, IsOk());
  EXPECT_TRUE(answer->resend());
  EXPECT_THAT(answer->completed(), IsEmpty());
  EXPECT_THAT(job_.All([](TestMember& m) { return m.Barrier(); }), Each(IsOk()));
}

TEST_F(NodeCollectivesTest, DoNotCountForMembersThatWithdrew) {
  const v1::NodeCollectiveRequest late = Together(2, v1::COLLECTIVE_KIND_BARRIER);
  v1::WithdrawArrivalRequest withdraw;
  *withdraw.mutable_call() = job_[1].CallContext();
  *withdraw.mutable_epoch() = job_[1].epoch();
  EXPECT_THAT(job_[1].Call(&Stub::WithdrawArrival, withdraw), IsOk());
  auto node = Start(late);
  AwaitArrived(1);
  auto other = std::async(std::launch::async, [this] { return job_[2].Barrier(); });
  AwaitArrived(2);
  EXPECT_THAT(job_[1].Barrier(), IsOk());
  EXPECT_THAT(other.get(), IsOk());
  const auto answer = node.get();
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->completed(), ElementsAre(0));
}

}  // namespace
}  // namespace muster::testing
