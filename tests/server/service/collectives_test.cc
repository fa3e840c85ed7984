// Collectives over real gRPC: payloads of all sizes, ranks that disagree, groups and Leave.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CollectivesTest, JoinGivesRanksAndTheWholeRoster) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  for (int rank = 0; rank < 3; ++rank) {
    const auto again = job[rank].Join(3);
    ASSERT_THAT(again, IsOk());
    EXPECT_EQ(again->rank(), rank);
    ASSERT_EQ(again->roster_size(), 3);
    EXPECT_EQ(again->roster(rank).member().incarnation(), job[rank].identity().incarnation());
    EXPECT_EQ(again->roster(rank).local_rank(), rank);
    EXPECT_EQ(again->epoch().nonce(), job[0].epoch().nonce());
  }
}

TEST(CollectivesTest, BarriersReturnOnAllRanks) {
  const auto server = StartServer();
  TestJob job(server->address(), 4);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(job.All([&](TestMember& m) { return m.Barrier(absl::StrCat("step ", i)); }),
                Each(IsOk()));
  }
}

TEST(CollectivesTest, BroadcastGivesTheRootsPayloadToAll) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  const std::string payload("\0binary\xff", 8);
  for (const auto& result : job.All([&](TestMember& m) {
         return m.Broadcast(1, m.rank() == 1 ? payload : std::string());
       })) {
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(*result, payload);
  }
}

TEST(CollectivesTest, GatherGivesAllPayloadsToTheRootOnly) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  const auto results =
      job.All([](TestMember& m) { return m.Gather(2, absl::StrCat("from ", m.rank())); });
  ASSERT_THAT(results, Each(IsOk()));
  EXPECT_EQ(results[0]->payloads_size(), 0);
  EXPECT_EQ(results[1]->payloads_size(), 0);
  EXPECT_THAT(results[2]->payloads(), ElementsAre("from 0", "from 1", "from 2"));
}

TEST(CollectivesTest, AllGatherGivesAllPayloadsToAll) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  for (const auto& result : job.All([](TestMember& m) {
         return m.AllGather(m.rank() == 1 ? "" : absl::StrCat("from ", m.rank()));
       })) {
    ASSERT_THAT(result, IsOk());
    EXPECT_THAT(result->payloads(), ElementsAre("from 0", "", "from 2"));
  }
}

TEST(CollectivesTest, APayloadOfSeveralMebibytesPasses) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  const std::string payload(20 << 20, 'x');  // above gRPC's default limit
  for (const auto& result : job.All([&](TestMember& m) { return m.AllGather(payload); })) {
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->payloads(1).size(), payload.size());
  }
}

TEST(CollectivesTest, APayloadOverTheLimitIsRefusedWithTheFlagThatRaisesIt) {
  service::ServerOptions options = TestOptions();
  options.core.limits.max_payload_bytes = 1000;
  const auto server = StartServer(options);
  TestJob job(server->address(), 1);
  EXPECT_EQ(job[0].attached().limits().max_payload_bytes(), 1000);
  EXPECT_THAT(job[0].AllGather(std::string(1001, 'x')),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("--max-payload-bytes")));
  EXPECT_THAT(job[0].AllGather(std::string(1000, 'x')), IsOk());
}

TEST(CollectivesTest, ADisagreementIsReportedToBothSides) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  EXPECT_THAT(job.All([](TestMember& m) {
    return m.rank() == 0 ? m.Barrier("epoch") : m.AllGather("x").status();
  }),
              Each(StatusIs(absl::StatusCode::kFailedPrecondition,
                            ::testing::AllOf(HasSubstr("Barrier"), HasSubstr("AllGather")))));
}

TEST(CollectivesTest, ASubgroupCompletesOnItsOwn) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  const auto meet = [](TestMember& m) -> absl::Status {
    if (m.rank() == 1) return absl::OkStatus();
    v1::BarrierRequest request;
    *request.mutable_context() = m.CollectiveContext();
    request.mutable_context()->mutable_group()->set_name("even");
    request.mutable_context()->mutable_group()->add_ranks(0);
    request.mutable_context()->mutable_group()->add_ranks(2);
    return m.Call(&Stub::Barrier, request).status();
  };
  EXPECT_THAT(job.All(meet), Each(IsOk()));
}

TEST(CollectivesTest, LeaveReturnsWhenAllLeaveAndEndsTheJob) {
  const auto server = StartServer();
  TestJob job(server->address(), 3);
  EXPECT_FALSE(server->Outcome().has_value());
  EXPECT_THAT(job.All([](TestMember& m) { return m.Leave(); }), Each(IsOk()));
  ASSERT_TRUE(server->Outcome().has_value());
  EXPECT_THAT(*server->Outcome(), IsOk());
}

TEST(CollectivesTest, AJobOfAnotherNameIsRefused) {
  service::ServerOptions options = TestOptions();
  options.core.job_id = "mine";
  const auto server = StartServer(options);
  TestMember::Options other;
  other.job = "other";
  TestMember member(server->address(), other);
  EXPECT_THAT(member.Attach(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("'mine'")));
  EXPECT_THAT(GetStatus(member.stub(), "other"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'mine'")));
  EXPECT_THAT(GetStatus(member.stub(), "mine"), IsOk());
}

}  // namespace
}  // namespace muster::testing
