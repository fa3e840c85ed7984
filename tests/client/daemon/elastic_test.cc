// Tests of elastic jobs: survivors and newcomers in the next epoch, and agreed stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "absl/strings/str_cat.h"
#include "muster/error_facts.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The settle time is long, so that all members that join or rejoin together form one epoch on a
// busy machine too.
const std::vector<std::string> kElastic = {"--min-world-size=2", "--settle=3s",
                                           "--member-grace=100ms"};

// Rejoins, as every member must, and returns the rank in the new epoch.
absl::StatusOr<int> Rejoin(Job& job) {
  const absl::Status rejoined = job.Rejoin();
  if (!rejoined.ok()) return rejoined;
  return job.rank();
}

TEST(ElasticTest, SurvivorsKeepTheirOrder) {
  Jobs jobs(4, kElastic);
  const uint64_t first = jobs[0].epoch();
  const Group old_world = jobs[2].world();
  jobs.Destroy(1);
  const absl::Status lost = jobs[2].Barrier("x");
  EXPECT_EQ(lost.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(Message(lost), HasSubstr("rank 1"));
  auto second = std::async(std::launch::async, [&] { return Rejoin(jobs[2]); });
  auto third = std::async(std::launch::async, [&] { return Rejoin(jobs[3]); });
  EXPECT_EQ(Rejoin(jobs[0]).value_or(-1), 0);
  EXPECT_EQ(second.get().value_or(-1), 1);
  EXPECT_EQ(third.get().value_or(-1), 2);
  EXPECT_GT(jobs[0].epoch(), first);
  EXPECT_EQ(jobs[2].epoch(), jobs[0].epoch());
  EXPECT_TRUE(jobs[0].resumed());
  EXPECT_EQ(jobs[3].self().previous_rank, 3);
  // The new world works. Calls on the old one say why it does not.
  auto other = std::async(std::launch::async, [&] { return jobs[2].AllGather(2).status(); });
  auto another = std::async(std::launch::async, [&] { return jobs[3].AllGather(3).status(); });
  EXPECT_THAT(*jobs[0].AllGather(0), ElementsAre(0, 2, 3));
  EXPECT_TRUE(other.get().ok() && another.get().ok());
  EXPECT_EQ(old_world.Barrier(), lost);
}

TEST(ElasticTest, ANewcomerTakesTheVacantRankAndASurvivorsState) {
  Jobs jobs(3, {"--min-world-size=2", "--settle=60s", "--member-grace=100ms"});
  jobs.Destroy(0);
  auto survivor = std::async(std::launch::async, [&] {
    EXPECT_TRUE(Rejoin(jobs[1]).ok());
    return jobs[1].Broadcast(std::string(jobs[1].is_main() ? "state of 1" : ""));
  });
  auto other = std::async(std::launch::async, [&] {
    EXPECT_TRUE(Rejoin(jobs[2]).ok());
    return jobs[2].Broadcast(std::string(jobs[2].is_main() ? "state of 2" : ""));
  });
  const auto newcomer = Job::Join(OptionsFor(jobs.daemon().address()));
  ASSERT_TRUE(newcomer.ok()) << newcomer.status();
  EXPECT_EQ((*newcomer)->world_size(), 3);
  EXPECT_FALSE((*newcomer)->is_main());
  EXPECT_TRUE((*newcomer)->resumed());
  EXPECT_EQ((*newcomer)->self().previous_rank, std::nullopt);
  const absl::StatusOr<std::string> state = (*newcomer)->Broadcast(std::string());
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_THAT(*state, HasSubstr("state of "));
  EXPECT_EQ(*survivor.get(), *state);
  EXPECT_EQ(*other.get(), *state);
}

TEST(ElasticTest, AWaitingNewcomerIsAdmittedAtTheNextRejoin) {
  Jobs jobs(2, {"--min-world-size=2", "--max-world-size=3", "--settle=200ms"},
            [](int, JobOptions* options) { options->world_size.reset(); });
  EXPECT_EQ(jobs[0].NewcomersWaiting(), 0);
  std::promise<void> told;
  const Subscription subscription = jobs[1].OnNewcomers([&] { told.set_value(); });
  auto newcomer = std::async(std::launch::async,
                             [&] { return Job::Join(OptionsFor(jobs.daemon().address())); });
  told.get_future().wait();
  EXPECT_EQ(jobs[1].NewcomersWaiting(), 1);
  auto waiting = std::async(std::launch::async, [&] {
    const absl::Status ended = jobs[0].Barrier("never");
    EXPECT_EQ(ended.code(), absl::StatusCode::kAborted) << ended;
    return Rejoin(jobs[0]);
  });
  ASSERT_TRUE(jobs.AwaitParked(1, "Barrier"));
  EXPECT_EQ(Rejoin(jobs[1]).value_or(-1), 1);
  EXPECT_EQ(waiting.get().value_or(-1), 0);
  const auto job = newcomer.get();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)->rank(), 2);
  EXPECT_EQ(jobs[0].world_size(), 3);
}

TEST(ElasticTest, RejoinOfAJobThatIsNotElasticIsRefused) {
  Jobs jobs(2, {"--member-grace=100ms"});
  jobs.Destroy(1);
  EXPECT_FALSE(jobs[0].AwaitFailure(absl::InfiniteDuration()).ok());
  const absl::Status refused = jobs[0].Rejoin();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("not elastic"));
  EXPECT_EQ(FactsOf(refused).rank, 1);
}

TEST(ElasticTest, TooFewSurvivorsEndTheJobWithAReason) {
  Jobs jobs(
      3, {"--min-world-size=3", "--settle=100ms", "--rejoin-timeout=1s", "--member-grace=100ms"});
  jobs.Destroy(2);
  EXPECT_FALSE(jobs[0].AwaitFailure(absl::InfiniteDuration()).ok());
  auto other = std::async(std::launch::async, [&] { return jobs[1].Rejoin(); });
  const absl::Status ended = jobs[0].Rejoin();
  EXPECT_EQ(ended.code(), absl::StatusCode::kFailedPrecondition) << ended;
  EXPECT_FALSE(other.get().ok());
}

TEST(ElasticTest, DaemonKilledWhileSurvivorsRejoinChangesNothing) {
  Jobs jobs(3, kElastic);
  jobs.Destroy(2);
  EXPECT_FALSE(jobs[0].AwaitFailure(absl::InfiniteDuration()).ok());
  EXPECT_FALSE(jobs[1].AwaitFailure(absl::InfiniteDuration()).ok());
  auto first = std::async(std::launch::async, [&] { return Rejoin(jobs[0]); });
  ASSERT_TRUE(jobs.AwaitParked(1, "Rejoin"));
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_EQ(Rejoin(jobs[1]).value_or(-1), 1);
  EXPECT_EQ(first.get().value_or(-1), 0);
  auto other = std::async(std::launch::async, [&] { return jobs[1].AllGather(1).status(); });
  EXPECT_THAT(*jobs[0].AllGather(0), ElementsAre(0, 1));
  EXPECT_TRUE(other.get().ok());
}

TEST(ElasticTest, AllRanksStopAtTheSameStepDespiteARestart) {
  Jobs jobs(3);
  ASSERT_TRUE(jobs[1].RequestStop().ok());
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  const std::vector<int> stopped = jobs.OnAll([](Job& job) {
    int step = 0;
    while (!job.StopRequested() && job.Barrier(absl::StrCat("step ", step)).ok()) ++step;
    return step;
  });
  EXPECT_THAT(stopped, Each(stopped[0]));
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(jobs[rank].StopRequested());
}

}  // namespace
}  // namespace muster::testing
