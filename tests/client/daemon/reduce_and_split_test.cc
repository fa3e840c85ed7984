// Tests of Job::AllReduce and Job::Split through a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "muster/job.h"
#include "muster/scopes.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr CallOptions kShort = {absl::Milliseconds(100)};

TEST(AllReduceTest, EveryOperationOnNumbers) {
  Jobs jobs(3);
  jobs.Run([](int rank, Job& job) {
    EXPECT_EQ(*job.AllReduce(rank + 1), 6);
    EXPECT_EQ(*job.AllReduce(rank + 2, ReduceOp::kProduct), 24);
    EXPECT_EQ(*job.AllReduce(rank - 1, ReduceOp::kMin), -1);
    EXPECT_EQ(*job.AllReduce(rank * 0.5, ReduceOp::kMax), 1.0);
    EXPECT_EQ(*job.AllReduce(rank + 0.5, ReduceOp::kAverage), 1.5);
    EXPECT_EQ(*job.AllReduce(-3 - rank, ReduceOp::kAverage), -4);
    EXPECT_EQ(*job.AllReduce(uint64_t{1} << rank, ReduceOp::kBitwiseOr), 7u);
    EXPECT_TRUE(*job.AllReduce(rank == 1, ReduceOp::kBitwiseOr));
    EXPECT_FALSE(*job.AllReduce(rank == 1, ReduceOp::kBitwiseAnd));
    // Integers wrap around.
    EXPECT_EQ(*job.AllReduce(static_cast<uint8_t>(100)), 44);
    EXPECT_EQ(*job.AllReduce(std::numeric_limits<int64_t>::max(), ReduceOp::kSum),
              std::numeric_limits<int64_t>::max() - 2);
  });
}

TEST(AllReduceTest, VectorsElementByElement) {
  Jobs jobs(2);
  jobs.Run([](int rank, Job& job) {
    EXPECT_THAT(*job.AllReduce(std::vector<double>{1.0 + rank, 10, -1}), ElementsAre(3, 20, -2));
    EXPECT_THAT(*job.AllReduce(std::vector<int16_t>{int16_t(rank)}, ReduceOp::kMax),
                ElementsAre(1));
    EXPECT_THAT(*job.AllReduce(std::vector<float>()), IsEmpty());
  });
}

// Floating-point sums depend on their order. Every rank must add in the order of the ranks.
TEST(AllReduceTest, FoldsInRankOrder) {
  Jobs jobs(4);
  const std::vector<double> terms = {1e16, 1, -1e16, 1};
  const double folded = ((terms[0] + terms[1]) + terms[2]) + terms[3];
  for (const auto& sum : jobs.OnAll([&](Job& job) { return job.AllReduce(terms[job.rank()]); })) {
    EXPECT_EQ(*sum, folded);
  }
}

TEST(AllReduceTest, DifferencesBetweenRanksAreNamed) {
  const auto expect_named = [](const std::function<absl::Status(Job&)>& call,
                               const std::string& one, const std::string& other) {
    Jobs jobs(2);
    for (const absl::Status& status : jobs.OnAll(call)) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(Message(status), AllOf(HasSubstr(one), HasSubstr(other)));
    }
  };
  expect_named(
      [](Job& job) {
        return job.AllReduce(1, job.rank() == 0 ? ReduceOp::kSum : ReduceOp::kMax).status();
      },
      "AllReduce(sum of int32, 4 bytes)", "AllReduce(max of int32, 4 bytes)");
  expect_named(
      [](Job& job) {
        return job.rank() == 0 ? job.AllReduce(1).status() : job.AllReduce(1.0).status();
      },
      "sum of int32", "sum of float64");
  expect_named([](Job& job) { return job.AllReduce(std::vector<int>(2 + job.rank())).status(); },
               "8 bytes", "12 bytes");
}

TEST(AllReduceTest, UnreducibleTypesAreRefusedBeforeSending) {
  Jobs jobs(2);
  const absl::Status sum_of_bools = jobs[0].AllReduce(true).status();
  EXPECT_TRUE(absl::IsUnimplemented(sum_of_bools)) << sum_of_bools;
  EXPECT_THAT(Message(sum_of_bools), HasSubstr("no sum of bool; pass it as an int"));
  EXPECT_TRUE(absl::IsUnimplemented(jobs[0].AllReduce(1.0, ReduceOp::kBitwiseOr).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(jobs[0].AllReduce(1, static_cast<ReduceOp>(99)).status()));
  for (const auto& sum : jobs.OnAll([](Job& job) { return job.AllReduce(1); })) EXPECT_EQ(*sum, 2);
}

TEST(AllReduceTest, GroupsAndScopes) {
  Jobs jobs(3);
  jobs.Run([](int rank, Job& job) {
    if (rank != 1) {
      EXPECT_EQ(*job.NewGroup("ends", {2, 0})->AllReduce(rank), 2);
    }
    const PreventBlock alone(job);
    EXPECT_EQ(*job.AllReduce(rank, ReduceOp::kAverage), rank);
  });
}

TEST(ArraysTest, AreChangedAndFilledInTheCallersMemory) {
  Jobs jobs(3);
  jobs.Run([](int rank, Job& job) {
    float state[2] = {rank + 1.0f, rank + 2.0f};
    std::vector<float> all(6, -1);
    EXPECT_EQ(job.Gather(state, absl::MakeSpan(all), 1), absl::OkStatus());
    EXPECT_THAT(all,
                rank == 1 ? ElementsAre(1, 2, 2, 3, 3, 4) : ElementsAre(-1, -1, -1, -1, -1, -1));
    EXPECT_EQ(job.world().AllGather(state, absl::MakeSpan(all)), absl::OkStatus());
    EXPECT_THAT(all, ElementsAre(1, 2, 2, 3, 3, 4));
    EXPECT_EQ(job.AllReduce(absl::MakeSpan(state), ReduceOp::kMax), absl::OkStatus());
    EXPECT_THAT(state, ElementsAre(3, 4));
    state[0] = static_cast<float>(rank);
    EXPECT_EQ(job.Broadcast(absl::MakeSpan(state), 2), absl::OkStatus());
    EXPECT_THAT(state, ElementsAre(2, 4));
  });
}

TEST(ArraysTest, DifferentLengthsAreNamed) {
  Jobs jobs(2);
  for (const absl::Status& status : jobs.OnAll([](Job& job) {
         std::vector<int> mine(2 + job.rank(), 7);
         const absl::Status broadcast = job.Broadcast(absl::MakeSpan(mine));
         EXPECT_EQ(mine[0], 7) << "an error leaves it as it was";
         return broadcast;
       })) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr("array of 2 int32"), HasSubstr("array of 3 int32")));
  }
}

TEST(ArraysTest, AreTheCallersOwnInAPreventBlockScope) {
  Jobs jobs(2);
  const PreventBlock alone(jobs[1]);
  int mine = 5;
  int all[2] = {8, 9};
  EXPECT_TRUE(jobs[1].AllGather(absl::MakeConstSpan(&mine, 1), absl::MakeSpan(all)).ok());
  EXPECT_THAT(all, ElementsAre(8, 5));
}

TEST(SplitTest, ByColorAndKey) {
  Jobs jobs(5);
  jobs.Run([](int rank, Job& job) {
    const auto part = job.Split(rank % 2, -rank);
    ASSERT_TRUE(part.ok()) << part.status();
    ASSERT_TRUE(part->has_value());
    const std::vector<int> expected =
        rank % 2 == 0 ? std::vector<int>{4, 2, 0} : std::vector<int>{3, 1};
    EXPECT_EQ((*part)->ranks(), expected);
    EXPECT_EQ((*part)->ranks()[(*part)->rank()], rank);
    EXPECT_EQ(*(*part)->AllGather(rank), expected);
    EXPECT_EQ((*part)->name(), rank % 2 == 0 ? "split 1, color 0" : "split 1, color 1");
  });
}

TEST(SplitTest, EqualKeysKeepTheOrderOfTheRanksAndColorsMayBeAnyNumber) {
  Jobs jobs(4);
  jobs.Run([](int rank, Job& job) {
    const auto part = job.Split(std::numeric_limits<int>::min(), rank == 3 ? -1 : 7);
    EXPECT_THAT((*part)->ranks(), ElementsAre(3, 0, 1, 2));
    EXPECT_TRUE((*part)->Barrier("all").ok());
  });
}

TEST(SplitTest, WithoutAColorThereIsNoGroup) {
  Jobs jobs(3);
  jobs.Run([](int rank, Job& job) {
    const auto part = job.Split(rank == 1 ? std::nullopt : std::optional<int>(0));
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ(part->has_value(), rank != 1);
    if (part->has_value()) {
      EXPECT_EQ(*(*part)->AllReduce(rank), 2);
    }
  });
}

TEST(SplitTest, EverySplitMakesGroupsOfItsOwn) {
  Jobs jobs(4);
  jobs.Run([](int rank, Job& job) {
    const auto rows = job.Split(rank / 2);
    const auto columns = job.Split(rank % 2);
    const auto again = job.Split(rank / 2);
    EXPECT_EQ(*(*rows)->AllReduce(rank), rank < 2 ? 1 : 5);
    EXPECT_EQ(*(*columns)->AllReduce(rank), rank % 2 == 0 ? 2 : 4);
    EXPECT_EQ((*again)->ranks(), (*rows)->ranks());
    EXPECT_NE((*again)->name(), (*rows)->name());
    EXPECT_TRUE((*again)->Barrier().ok());
  });
}

TEST(SplitTest, AfterATimeOutTheFirstColorCounts) {
  Jobs jobs(2);
  const absl::Status timed_out = jobs[0].Split(1, 0, kShort).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(timed_out));
  EXPECT_THAT(Message(timed_out), HasSubstr("Split() op 0 of the world"));
  const absl::Status other = jobs[0].Barrier();
  EXPECT_THAT(Message(other), HasSubstr("Split() op 0 of the world was sent"));
  jobs.Run([](int rank, Job& job) {
    const auto part = job.Split(rank == 0 ? 5 : 1);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ((*part)->name(), "split 1, color 1");
    EXPECT_THAT(*(*part)->AllGather(rank), ElementsAre(0, 1));
  });
}

TEST(SplitTest, IsRefusedInAPreventBlockScope) {
  Jobs jobs(2);
  jobs.Run([](int, Job& job) {
    {
      const PreventBlock alone(job);
      EXPECT_TRUE(absl::IsFailedPrecondition(job.Split(0).status()));
    }
    EXPECT_EQ((*job.Split(0))->name(), "split 1, color 0");
  });
}

}  // namespace
}  // namespace muster::testing
