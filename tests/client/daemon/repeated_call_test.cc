// Tests of calls that time out and are made again: no earlier attempt disturbs the next one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "muster/communicator.h"
#include "muster/toolkits.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using toolkits::AllReduce;
using toolkits::GatherFromAllRanks;
using toolkits::ReduceAndBroadcast;

constexpr CallOptions kShort = {absl::Milliseconds(100)};

// Connects a communicator of all ranks, and reduces over them.
absl::Status ConnectAndReduce(Job& job) {
  const auto communicator = Communicator::Create(job);
  if (!communicator.ok()) return communicator.status();
  std::vector<int> ones = {1};
  const absl::Status reduced = (*communicator)->AllReduce(absl::MakeSpan(ones));
  EXPECT_EQ(ones[0], job.world_size());
  return reduced;
}

TEST(RepeatedCallTest, ACommunicatorIsCreatedByTheNextTry) {
  Jobs jobs(3);
  CommunicatorOptions options;
  options.timeout = kShort.timeout;
  for (int rank : {0, 0, 2}) {
    const absl::Status late = Communicator::Create(jobs[rank], options).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(late));
    EXPECT_THAT(Message(late), HasSubstr("Communicator::Create() op 0 of the world"));
  }
  for (int round = 0; round < 2; ++round) {
    for (const absl::Status& status : jobs.OnAll(ConnectAndReduce))
      EXPECT_TRUE(status.ok()) << status;
  }
  for (const absl::Status& status : jobs.OnAll([](Job& job) { return job.Barrier("after"); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(RepeatedCallTest, TheFirstPassedNumberCounts) {
  Jobs jobs(2);
  EXPECT_TRUE(absl::IsDeadlineExceeded(AllReduce(jobs[0], 5, ReduceOp::kSum, kShort).status()));
  const auto sums = jobs.OnAll([](Job& job) { return AllReduce(job, job.rank() == 0 ? 7 : 1); });
  for (const absl::StatusOr<int>& sum : sums) EXPECT_EQ(sum.value_or(0), 6);
}

TEST(RepeatedCallTest, ATensorMustHaveTheSameShape) {
  Jobs jobs(2);
  std::vector<float> three(3, 1);
  std::vector<float> four(4, 1);
  const auto reduce = [](Job& job, std::vector<float>& data, const CallOptions& options = {}) {
    return AllReduce(job, absl::MakeSpan(data), ReduceOp::kSum, options);
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(reduce(jobs[0], three, kShort)));
  const absl::Status other = reduce(jobs[0], four);
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(other), HasSubstr("is repeated with other arguments"));
  jobs.Run([&](int rank, Job& job) {
    std::vector<float> mine(3, 1);
    EXPECT_TRUE(reduce(job, rank == 0 ? three : mine).ok());
  });
  EXPECT_THAT(three, Each(2));
}

// The ranks compare their arguments in a second collective, and connect the communicator in a
// third. After a failure in either of them, the next call must still begin with the first.
TEST(RepeatedCallTest, HelpersGoOnAfterEveryKindOfEnd) {
  Jobs jobs(2);
  jobs.Run([](int rank, Job& job) {
    std::vector<float> unequal(rank + 1, 1);
    EXPECT_TRUE(absl::IsInvalidArgument(AllReduce(job, absl::MakeSpan(unequal))));
    std::vector<float> equal(1, 1);
    EXPECT_TRUE(AllReduce(job, absl::MakeSpan(equal)).ok());
    EXPECT_EQ(equal[0], 2);
  });
}

TEST(RepeatedCallTest, HelpersOfSeveralStepsBeginAnew) {
  Jobs jobs(2);
  const auto one = [] { return 1; };
  const auto sum = [](const std::vector<int>& all) {
    return std::accumulate(all.begin(), all.end(), 0);
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(GatherFromAllRanks(jobs[0], one, 0, kShort).status()));
  jobs.Run([&](int rank, Job& job) {
    EXPECT_THAT(*GatherFromAllRanks(job, one), SizeIs(rank == 0 ? 2 : 0));
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(ReduceAndBroadcast(jobs[1], one, sum, kShort).status()));
  for (const auto& total :
       jobs.OnAll([&](Job& job) { return ReduceAndBroadcast(job, one, sum); })) {
    EXPECT_EQ(total.value_or(0), 2);
  }
}

}  // namespace
}  // namespace muster::testing
