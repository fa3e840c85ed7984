#include <atomic>
#include <memory>
#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/current_job.h"
#include "muster/device.h"
#include "muster/gather.h"
#include "muster/run_on.h"
#include "muster/scopes.h"
#include "muster/tensor_collectives.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::StartsWith;

// Up to four ranks, two on each node.
class HelpersTest : public ::testing::TestWithParam<int> {
 protected:
  Jobs jobs_{GetParam(), {}, [](int index, JobOptions* options) {
               options->node_id = index < 2 ? "a" : "b";
               options->timeout = absl::Seconds(30);
             }};
};

TEST_P(HelpersTest, MainRunsThenTheOthersPostAndAllGetTheValueOfMain) {
  std::atomic<int> posts{0};
  for (const auto& value : jobs_.OnAll([&](Job& job) {
         return RunOnMain(
             job, [&] { return 10 + job.rank(); }, [&] { ++posts; });
       })) {
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(*value, 10);
  }
  EXPECT_EQ(posts, GetParam() - 1);
}

TEST_P(HelpersTest, AnErrorReachesAllWithTheNameOfItsRank) {
  const int last = GetParam() - 1;
  for (const auto& value : jobs_.OnAll([&](Job& job) {
         return ComputeAndBroadcast(
             job, []() -> int { throw std::runtime_error("no data"); }, last);
       })) {
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInternal);
    if (last == 0) continue;
    EXPECT_THAT(Message(value),
                AllOf(StartsWith(absl::StrCat("rank ", last, " (node '")), EndsWith("no data")));
  }
}

TEST(HelpersFailureTest, WaitersOutlastTheDefaultTimeOutWhileTheRunnerLives) {
  Jobs jobs(2, {}, [](int, JobOptions* options) { options->timeout = absl::Seconds(5); });
  jobs.Run([](int, Job& job) {
    const auto value = MainOnly(
        job, [&job] { return static_cast<int>(job.AwaitFailure(absl::Seconds(6)).ok()); },
        job.is_main() ? CallOptions{absl::Seconds(30)} : CallOptions{});
    EXPECT_TRUE(value.ok()) << value.status();
  });
}

TEST_P(HelpersTest, OncePerNodeRunsOnLocalRankZeroAndKeepsValuesInTheirProcess) {
  std::atomic<int> runs{0};
  jobs_.Run([&](int, Job& job) {
    auto value = RunOncePerNode(job, [&] { return std::make_unique<int>(++runs); });
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(value->has_value(), job.local_rank() == 0);
    auto posted = RunOncePerNode(
        job, [] { return std::make_unique<int>(1); }, [] { return std::make_unique<int>(2); });
    ASSERT_TRUE(posted.ok()) << posted.status();
    EXPECT_EQ(**posted, job.local_rank() == 0 ? 1 : 2);
    const auto kept = OncePerNode(job, [] { return 3; });
    ASSERT_TRUE(kept.ok());
    EXPECT_EQ(kept->has_value(), job.local_rank() == 0);
  });
  EXPECT_EQ(runs, (GetParam() + 1) / 2);
}

TEST_P(HelpersTest, OneRankOnlyTellsTheOthersWhereTheyWait) {
  jobs_.Run([](int, Job& job) {
    const auto alone = OneRankOnly(job, [] { return 1; });
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(alone->has_value(), job.is_main());
    OneRankOptions options;
    options.with_barrier = true;
    EXPECT_TRUE(absl::IsDataLoss(OneRankOnly(
        job, [] { return absl::DataLossError("torn"); }, options)));
  });
}

TEST_P(HelpersTest, ZeroFirstRunsOnTheOthersOnlyAfterTheFirst) {
  std::atomic<int> first{0};
  jobs_.Run([&](int, Job& job) {
    const auto seen = ZeroFirst(job, job.local_rank() == 0, [&] { return first.fetch_add(1); });
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_EQ(*seen < job.num_nodes(), job.local_rank() == 0);
  });
}

TEST_P(HelpersTest, CollectivesInAScopeGiveTheCallersOwnValueAtOnce) {
  jobs_.Run([](int, Job& job) {
    if (MainScope main{job}) {
      const PreventBlock nested(job);
      EXPECT_TRUE(job.prevents_block());
      EXPECT_TRUE(job.Barrier("never called by the others").ok());
      EXPECT_EQ(*job.Broadcast(7, job.world_size() - 1), 7);
      EXPECT_THAT(*job.AllGather(7), ElementsAre(7));
      EXPECT_EQ(*RunOnMain(job, [] { return 8; }), 8);
    }
    EXPECT_FALSE(job.prevents_block());
    try {
      const PreventBlock scope(job);
      throw std::runtime_error("out of the block");
    } catch (const std::runtime_error&) {
    }
    EXPECT_FALSE(job.prevents_block());
    EXPECT_TRUE(Barrier(job, "after the scopes").ok());
  });
}

TEST_P(HelpersTest, GathersAndReducesTheValuesOfAFunction) {
  const int size = GetParam();
  jobs_.Run([&](int rank, Job& job) {
    const auto list = GatherFromAllRanks(
        job, [&] { return absl::StrCat("r", rank); }, size - 1);
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(list->size(), rank == size - 1 ? size : 0);
    const auto sum = ReduceAndBroadcast(
        job, [&] { return rank + 1; },
        [](const std::vector<int>& all) {
          int total = 0;
          for (int value : all) total += value;
          return total;
        });
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ(*sum, size * (size + 1) / 2);
    const auto failed = GatherScalarFromAllRanks(job, [&]() -> absl::StatusOr<int> {
      if (rank == size - 1) return absl::DataLossError("torn");
      return rank;
    });
    EXPECT_TRUE(absl::IsDataLoss(failed.status())) << failed.status();
    EXPECT_EQ(AllGather(job, std::string(rank, 'x'))->size(), size);
  });
}

// This program links no data plane.
TEST_P(HelpersTest, WithoutADataPlaneTheDeviceIsTheCpuAndNumbersAreReduced) {
  EXPECT_THAT(AvailableBackends(), ::testing::IsEmpty());
  jobs_.Run([&](int rank, Job& job) {
    EXPECT_EQ(DeviceOf(job).value_or("?"), "cpu");
    EXPECT_TRUE(absl::IsNotFound(BackendOf(job).status()));
    EXPECT_EQ(AllReduce(job, rank + 1).value_or(-1), GetParam() * (GetParam() + 1) / 2);
    std::vector<float> data = {1};
    EXPECT_EQ(AllReduce(job, absl::MakeSpan(data)).ok(), GetParam() == 1);
  });
}

INSTANTIATE_TEST_SUITE_P(WorldSizes, HelpersTest, ::testing::Values(1, 2, 4));

TEST(HelpersFailureTest, ALostRunnerEndsTheWaitOfTheOthersWithItsName) {
  Jobs jobs(2, {"--member-grace=1ms"});
  std::thread waiter([&] {
    const absl::Status status = RunOncePerNode(jobs[1], [] {});
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_THAT(Message(status), ::testing::HasSubstr("rank 0"));
  });
  jobs.Destroy(0);
  waiter.join();
}

TEST(CurrentJobTest, SerialUntilAJobIsAdoptedAndAfterItIsGone) {
  EXPECT_FALSE(IsDistributed(CurrentJob()));
  EXPECT_EQ(GetWorldSize(), 1);
  EXPECT_EQ(RankPrefixedMessage("hello"), "hello");
  ASSERT_TRUE(SetLocalRank(3).ok());
  EXPECT_EQ(GetLocalRank(), 3);
  Jobs jobs(1);
  Sync();
  EXPECT_EQ(&CurrentJob(), &jobs[0]);
  EXPECT_EQ(RankPrefixedMessage("hello"), "[rank: 0] hello");
  EXPECT_TRUE(absl::IsFailedPrecondition(Initialize(JobOptions())));
  jobs.Destroy(0);
  EXPECT_FALSE(IsDistributed(CurrentJob()));
  ASSERT_TRUE(Initialize(JobOptions()).ok());
  EXPECT_EQ(GetRank(), 0);
  EXPECT_TRUE(Finalize().ok());
}

}  // namespace
}  // namespace muster::testing
