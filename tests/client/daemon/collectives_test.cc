// Tests of the SDK's collectives through a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>

#include "absl/strings/match.h"
#include "google/protobuf/duration.pb.h"
#include "muster/error_facts.h"
#include "muster/job.h"
#include "muster/protobuf.h"
#include "muster/scopes.h"
#include "muster/toolkits.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using toolkits::GatherFromAllRanks;

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr CallOptions kShort = {absl::Milliseconds(100)};

struct Sample {
  int32_t rank;
  double loss;
  friend bool operator==(const Sample& a, const Sample& b) {
    return a.rank == b.rank && a.loss == b.loss;
  }
};

// Calls every primitive with values of type T, where rank r's value is `make(r)`.
template <class T, class Make>
void ExpectCarried(Jobs& jobs, Make make) {
  const int size = jobs.size();
  std::vector<T> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(make(rank));
  jobs.Run([&](int rank, Job& job) {
    const absl::StatusOr<T> sent = job.Broadcast(make(rank), size - 1);
    ASSERT_TRUE(sent.ok()) << sent.status();
    EXPECT_EQ(*sent, all.back());
    const absl::StatusOr<std::vector<T>> gathered = job.Gather(make(rank), 1);
    ASSERT_TRUE(gathered.ok()) << gathered.status();
    EXPECT_EQ(*gathered, rank == 1 ? all : std::vector<T>());
    const absl::StatusOr<std::vector<T>> everywhere = job.AllGather(make(rank));
    ASSERT_TRUE(everywhere.ok()) << everywhere.status();
    EXPECT_EQ(*everywhere, all);
    EXPECT_TRUE(job.Barrier("typed").ok());
  });
}

TEST(CollectivesTest, CarryEveryType) {
  Jobs jobs(3);
  ExpectCarried<std::string>(jobs, [](int r) { return std::string(r * 3, 'a' + r); });
  ExpectCarried<int32_t>(jobs, [](int r) { return r - 1; });
  ExpectCarried<uint64_t>(jobs, [](int r) { return (uint64_t{1} << 63) + r; });
  ExpectCarried<float>(jobs, [](int r) { return r * 0.5f; });
  ExpectCarried<double>(jobs, [](int r) { return r * 0.1; });
  ExpectCarried<bool>(jobs, [](int r) { return r % 2 == 0; });
  ExpectCarried<Sample>(jobs, [](int r) { return Sample{r, r * 0.25}; });
  ExpectCarried<std::array<int, 3>>(jobs, [](int r) { return std::array<int, 3>{r, r, r}; });
  ExpectCarried<std::vector<double>>(jobs, [](int r) { return std::vector<double>(r, r); });
  ExpectCarried<std::vector<Sample>>(jobs, [](int r) { return std::vector<Sample>(r, {r, 1}); });
  ExpectCarried<std::vector<std::vector<std::string>>>(jobs, [](int r) {
    return std::vector<std::vector<std::string>>(r, {"x", ""});
  });
}

TEST(CollectivesTest, CarryProtobufMessages) {
  Jobs jobs(2);
  jobs.Run([](int rank, Job& job) {
    google::protobuf::Duration mine;
    mine.set_seconds(10 + rank);
    const auto all = job.AllGather(mine);
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ((*all)[0].seconds(), 10);
    EXPECT_EQ((*all)[1].seconds(), 11);
    EXPECT_EQ(job.Broadcast(mine, 1)->seconds(), 11);
  });
}

TEST(CollectivesTest, CarryRawAndLargePayloads) {
  Jobs jobs(2);
  const std::string large(8 << 20, 'L');
  jobs.Run([&](int rank, Job& job) {
    EXPECT_EQ(*job.world().BroadcastBytes(rank == 0 ? large : "", 0), large);
    EXPECT_THAT(*job.world().GatherBytes(std::string(1, '\0'), 0), SizeIs(rank == 0 ? 2 : 0));
    EXPECT_THAT(*job.world().AllGatherBytes(""), ElementsAre("", ""));
  });
}

TEST(CollectivesTest, GroupsAreIndependent) {
  Jobs jobs(4);
  jobs.Run([](int rank, Job& job) {
    // Two groups of the same name, and one whose ranks are in another order than in the world.
    const std::vector<int> half = rank < 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 3};
    absl::StatusOr<Group> pair = job.NewGroup("half", half);
    ASSERT_TRUE(pair.ok()) << pair.status();
    EXPECT_THAT(*pair->AllGather(rank), ElementsAre(half[0], half[1]));
    absl::StatusOr<Group> all = job.NewGroup("reversed", {3, 2, 1, 0});
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(all->rank(), 3 - rank);
    EXPECT_THAT(*all->AllGather(rank), ElementsAre(3, 2, 1, 0));
    EXPECT_EQ(*all->Broadcast(rank, 0), 3);
    EXPECT_EQ(all->member(0).rank, 3);
    EXPECT_TRUE(pair->Barrier("done").ok());
  });
}

TEST(CollectivesTest, BadGroupsAreRefused) {
  Jobs jobs(2);
  EXPECT_THAT(Message(jobs[0].NewGroup("g", {1})), HasSubstr("does not include rank 0"));
  EXPECT_THAT(Message(jobs[0].NewGroup("g", {0, 2})), HasSubstr("rank 2, which is out of range"));
  EXPECT_THAT(Message(jobs[0].NewGroup("g", {0, 1, 0})), HasSubstr("rank 0 twice"));
  const absl::StatusOr<Group> both = jobs[0].NewGroup("g", {0, 1});
  ASSERT_TRUE(both.ok());
  EXPECT_THAT(Message(jobs[0].NewGroup("g", {1, 0})), HasSubstr("exists with ranks 0,1"));
}

TEST(CollectivesTest, GroupsThatRanksSeeDifferentlyAreRefused) {
  Jobs jobs(2);
  const absl::StatusOr<Group> alone = jobs[0].NewGroup("g", {0});
  const absl::StatusOr<Group> both = jobs[1].NewGroup("g", {0, 1});
  ASSERT_TRUE(alone.ok() && both.ok());
  EXPECT_TRUE(alone->Barrier().ok());
  EXPECT_THAT(Message(both->Barrier()), HasSubstr("two groups are called 'g' and share ranks"));
}

TEST(CollectivesTest, ATimeOutNamesTheMissingRanksAndTheCallMayBeRetried) {
  Jobs jobs(3);
  const absl::Status status = jobs[1].Barrier("epoch 1", kShort);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("Barrier('epoch 1')"));
  EXPECT_THAT(Message(status), HasSubstr("missing 2 of 3: ranks 0,2"));
  const ErrorFacts facts = FactsOf(status);
  EXPECT_EQ(facts.rank, 0);
  EXPECT_EQ(facts.node, jobs[1].members()[0].node_id);
  EXPECT_EQ(facts.pid, jobs[1].members()[0].pid);
  EXPECT_THAT(facts.missing_ranks, ElementsAre(0, 2));
  const absl::StatusOr<Group> part = jobs[2].NewGroup("part", {2, 1, 0});
  const std::string label = "x; missing 1 of 3: rank 2";
  EXPECT_THAT(FactsOf(part->Barrier(label, kShort)).missing_ranks, ElementsAre(0, 1));
  for (const absl::Status& done : jobs.OnAll([](Job& job) { return job.Barrier("epoch 1"); })) {
    EXPECT_TRUE(done.ok()) << done;
  }
}

TEST(CollectivesTest, AfterATimeOutOnlyTheSameCallIsAccepted) {
  Jobs jobs(2);
  EXPECT_TRUE(absl::IsDeadlineExceeded(jobs[0].Broadcast(std::string("a"), 0, kShort).status()));
  const absl::Status other = jobs[0].Barrier("b");
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(other), HasSubstr("Broadcast(root 0, string) op 0 of the world was sent"));
  for (const auto& value : jobs.OnAll([](Job& job) { return job.Broadcast(std::string("c")); })) {
    EXPECT_EQ(*value, "a");
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(jobs[1].Gather(1, 0, kShort).status()));
  jobs.Run([](int rank, Job& job) {
    const auto values = job.Gather(10 * (rank + 1));
    EXPECT_EQ(*values, rank == 0 ? std::vector<int>({10, 1}) : std::vector<int>());
  });
}

TEST(CollectivesTest, ACancelledCallMayBeRetried) {
  Jobs jobs(3);
  Cancellation cancellation;
  auto waiting = std::async(std::launch::async, [&] {
    return jobs[0].Barrier("x", {std::nullopt, &cancellation});
  });
  // Rank 1 calls again until rank 0 has arrived.
  while (!absl::StrContains(Message(jobs[1].Barrier("x", kShort)), "missing 1 of 3: rank 2")) {
  }
  cancellation.Cancel();
  const absl::Status status = waiting.get();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  for (const absl::Status& done : jobs.OnAll([](Job& job) { return job.Barrier("x"); })) {
    EXPECT_TRUE(done.ok()) << done;
  }
}

TEST(CollectivesTest, DisagreementNamesBothSidesAndFinishesTheGroup) {
  Jobs jobs(3);
  const auto results = jobs.OnAll(
      [](Job& job) { return job.rank() == 2 ? job.Broadcast(1).status() : job.Barrier("epoch"); });
  for (const absl::Status& status : results) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), HasSubstr("Barrier('epoch')"));
    EXPECT_THAT(Message(status), HasSubstr("rank 2 called Broadcast(root 0, int32)"));
  }
  EXPECT_EQ(jobs[0].Barrier("epoch"), results[0]);
  // Another group is not affected.
  for (const absl::Status& status : jobs.OnAll([](Job& job) {
         return job.NewGroup("all", {0, 1, 2})->Barrier();
       })) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(CollectivesTest, DifferentTypesDisagree) {
  Jobs jobs(2);
  const auto results = jobs.OnAll([](Job& job) {
    return job.rank() == 0 ? job.AllGather(int32_t{1}).status() : job.AllGather(1.0).status();
  });
  EXPECT_THAT(Message(results[0]), HasSubstr("AllGather(int32)"));
  EXPECT_THAT(Message(results[0]), HasSubstr("AllGather(float64)"));
}

TEST(CollectivesTest, ArgumentsAreCheckedBeforeAnythingIsSent) {
  Jobs jobs(2, {"--max-payload-bytes=1000", "--max-name-bytes=40"});
  EXPECT_THAT(Message(jobs[0].Broadcast(1, 2)), HasSubstr("root 2 is out of range"));
  EXPECT_THAT(Message(jobs[0].AllGather(std::string(1001, 'x'))),
              HasSubstr("musterd --max-payload-bytes"));
  EXPECT_THAT(Message(jobs[0].Barrier(std::string(41, 'x'))), HasSubstr("at most 40"));
  for (const absl::Status& status : jobs.OnAll([](Job& job) { return job.Barrier(); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(CollectivesTest, ARefusalByTheDaemonFixesNothing) {
  Jobs jobs(2, {"--max-held-bytes=3100", "--max-payload-bytes=2000"});
  // Each payload is within the limit, but the two together are not.
  EXPECT_TRUE(absl::IsDeadlineExceeded(jobs[0].AllGather(std::string(1500, 'a'), kShort).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(jobs[1].AllGather(std::string(1900, 'b')).status()));
  const auto results = jobs.OnAll([](Job& job) {
    return job.AllGather(job.rank() == 0 ? std::string(1500, 'a') : std::string("b")).status();
  });
  for (const absl::Status& status : results) EXPECT_TRUE(status.ok()) << status;
}

TEST(CollectivesTest, ATooLargeAnswerIsRefusedToAllRanksAndTheGroupGoesOn) {
  Jobs jobs(3, {"--max-answer-bytes=3000", "--max-payload-bytes=1500"});
  for (const auto& value :
       jobs.OnAll([](Job& job) { return job.AllGather(std::string(1200, 'a')); })) {
    EXPECT_TRUE(absl::IsResourceExhausted(value.status())) << value.status();
    EXPECT_THAT(Message(value.status()), HasSubstr("musterd --max-answer-bytes"));
  }
  for (const auto& value :
       jobs.OnAll([](Job& job) { return job.AllGather(std::string(900, 'a')); })) {
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_THAT(*value, Each(std::string(900, 'a')));
  }
  for (const auto& gathered : jobs.OnAll([](Job& job) {
         return GatherFromAllRanks(job, [] { return std::string(1200, 'a'); }).status();
       })) {
    EXPECT_TRUE(absl::IsResourceExhausted(gathered)) << gathered;
  }
  for (const absl::Status& status : jobs.OnAll([](Job& job) { return job.Barrier("after"); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(CollectivesTest, RunOnMainGivesItsOutcomeToAll) {
  Jobs jobs(3, {"--max-payload-bytes=1000"});
  std::atomic<int> runs{0};
  for (const auto& value : jobs.OnAll([&](Job& job) {
         return job.RunOnMain([&] { return std::vector<int>{++runs, job.rank()}; });
       })) {
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_THAT(*value, ElementsAre(1, 0));
  }
  for (const absl::Status& status : jobs.OnAll([](Job& job) {
         return job.RunOnMain([] { return absl::DataLossError("disk full"); });
       })) {
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(Message(status), AllOf(StartsWith("rank 0 (host "), EndsWith("): disk full")));
    EXPECT_EQ(FactsOf(status).rank, 0);
    EXPECT_EQ(FactsOf(status).node, jobs[0].members()[0].node_id);
  }
  for (const auto& value :
       jobs.OnAll([](Job& job) { return job.RunOnMain([] { return std::string(2000, 'x'); }); })) {
    EXPECT_EQ(value.status().code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(ScopeTest, IsItsThreadsAlone) {
  Jobs jobs(2);
  jobs.Run([](int rank, Job& job) {
    if (rank == 1) {
      EXPECT_THAT(*job.AllGather(1), ElementsAre(0, 1));
      return;
    }
    const PreventBlock alone(job);
    EXPECT_TRUE(job.prevents_block());
    EXPECT_THAT(*job.AllGather(0), ElementsAre(0));
    auto other = std::async(std::launch::async, [&] {
      EXPECT_FALSE(job.prevents_block());
      return job.AllGather(0);
    });
    EXPECT_THAT(*other.get(), ElementsAre(0, 1));
    EXPECT_TRUE(job.prevents_block());
  });
}

}  // namespace
}  // namespace muster::testing
