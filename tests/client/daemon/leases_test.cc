// Tests of the SDK's leases through a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <set>

#include "muster/job.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// Puts ranks 0 and 1 on node "a", and ranks 2 and 3 on node "b".
void TwoNodes(int rank, JobOptions* options) { options->node_id = rank < 2 ? "a" : "b"; }

TEST(LeasesTest, WorkRunsOnceOnEachNode) {
  Jobs jobs(4, {}, TwoNodes);
  std::mutex mutex;
  std::multiset<std::string> nodes;
  const auto values = jobs.OnAll([&](Job& job) {
    return job.RunOncePerNode("unpack", [&] {
      std::lock_guard<std::mutex> lock(mutex);
      nodes.insert(job.node_id());
      return "path on " + job.node_id();
    });
  });
  for (int rank = 0; rank < 4; ++rank) {
    ASSERT_TRUE(values[rank].ok()) << values[rank].status();
    EXPECT_EQ(*values[rank], rank < 2 ? "path on a" : "path on b");
  }
  EXPECT_EQ(nodes, (std::multiset<std::string>{"a", "b"}));
}

TEST(LeasesTest, WorkRunsOnceInTheJob) {
  Jobs jobs(4, {}, TwoNodes);
  std::atomic<int> runs{0};
  for (const auto& value : jobs.OnAll(
           [&](Job& job) { return job.RunOncePerJob("download", [&] { return ++runs; }); })) {
    EXPECT_EQ(*value, 1);
  }
  // A rank that asks later gets the result too.
  EXPECT_EQ(*jobs[3].RunOncePerJob("download", [&] { return ++runs; }), 1);
}

TEST(LeasesTest, EveryRankGetsTheErrorOfTheWork) {
  Jobs jobs(3);
  for (const auto& value : jobs.OnAll([](Job& job) {
         return job.RunOncePerJob("unpack", [&]() -> absl::StatusOr<int> {
           return absl::DataLossError("archive is truncated");
         });
       })) {
    EXPECT_EQ(value.status(), absl::DataLossError("archive is truncated"));
  }
}

TEST(LeasesTest, EveryRankGetsTheErrorOfATooLargeResult) {
  Jobs jobs(2, {"--max-payload-bytes=1000"});
  std::atomic<int> runs{0};
  for (const auto& value : jobs.OnAll([&](Job& job) {
         return job.RunOncePerJob("unpack", [&] {
           ++runs;
           return std::string(2000, 'x');
         });
       })) {
    EXPECT_EQ(value.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(Message(value), HasSubstr("--max-payload-bytes"));
  }
  EXPECT_EQ(runs, 1);
}

TEST(LeasesTest, WorkWithoutAValueWorks) {
  Jobs jobs(2);
  std::atomic<int> runs{0};
  for (const absl::Status& status :
       jobs.OnAll([&](Job& job) { return job.RunOncePerNode("touch", [&] { ++runs; }); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(runs, 1);
}

TEST(LeasesTest, TimeOutNamesTheHolder) {
  Jobs jobs(2);
  absl::StatusOr<Lease> held = jobs[1].AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(held.ok() && held->held());
  const absl::Status status =
      jobs[0].AcquireLease("work", LeaseScope::kJob, {absl::Milliseconds(100)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("held by rank 1"));
}

TEST(LeasesTest, AReleasedLeaseGoesToTheNextWaiterWithAHigherToken) {
  Jobs jobs(2);
  auto first =
      std::make_unique<absl::StatusOr<Lease>>(jobs[0].AcquireLease("work", LeaseScope::kJob));
  ASSERT_TRUE(first->ok() && (*first)->held());
  const uint64_t token = (*first)->token();
  auto next = std::async(std::launch::async,
                         [&] { return jobs[1].AcquireLease("work", LeaseScope::kJob); });
  ASSERT_TRUE(jobs.AwaitParked(1, "lease"));
  first.reset();
  absl::StatusOr<Lease> second = next.get();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->held());
  EXPECT_GT(second->token(), token);
  EXPECT_TRUE(second->Complete("result").ok());
  EXPECT_EQ(*jobs[0].AcquireLease("work", LeaseScope::kJob)->result(), "result");
}

TEST(LeasesTest, CancelledWaiterDoesNotGetTheLease) {
  Jobs jobs(3);
  absl::StatusOr<Lease> held = jobs[0].AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(held.ok() && held->held());
  Cancellation cancellation;
  auto waiter = std::async(std::launch::async, [&] {
    return jobs[1].AcquireLease("work", LeaseScope::kJob, {std::nullopt, &cancellation}).status();
  });
  ASSERT_TRUE(jobs.AwaitParked(1, "lease"));
  cancellation.Cancel();
  EXPECT_EQ(waiter.get().code(), absl::StatusCode::kCancelled);
  { const absl::StatusOr<Lease> given_up = std::move(held); }
  absl::StatusOr<Lease> next = jobs[2].AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE(next->held());
}

TEST(LeasesTest, LeavingReleasesLeases) {
  Jobs jobs(2);
  absl::StatusOr<Lease> held = jobs[0].AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(held.ok() && held->held());
  auto left = std::async(std::launch::async, [&] { return jobs[0].Leave(); });
  absl::StatusOr<Lease> next = jobs[1].AcquireLease("work", LeaseScope::kJob);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_TRUE(next->held());
  EXPECT_TRUE(next->Complete("").ok());
  EXPECT_TRUE(jobs[1].Leave().ok());
  EXPECT_TRUE(left.get().ok());
  EXPECT_EQ(held->Complete("too late").code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace muster::testing
