// Tests of the job's store through a real daemon, which is killed (SIGKILL) and started again.
#include "muster/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

template <class F>
auto Start(F call) {
  return std::async(std::launch::async, call);
}

CallOptions Soon() {
  CallOptions options;
  options.timeout = absl::Milliseconds(50);
  return options;
}

TEST(StoreTest, RanksShareKeys) {
  Jobs jobs(3);
  auto waits = Start([&] { return jobs[2].store().Get("port"); });
  EXPECT_EQ(jobs[0].store().Set("port", "7001"), absl::OkStatus());
  EXPECT_EQ(*waits.get(), "7001");
  std::vector<int64_t> tickets;
  for (const auto& ticket : jobs.OnAll([](Job& job) { return job.store().Add("tickets", 1); })) {
    tickets.push_back(*ticket);
  }
  EXPECT_THAT(tickets, UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(*jobs[1].store().List(), ElementsAre("port", "tickets"));
  EXPECT_EQ(*jobs[1].store().Count("t"), 1);
  EXPECT_FALSE(jobs[1].store().CompareAndSet("port", std::nullopt, "1")->changed);
  EXPECT_TRUE(jobs[1].store().CompareAndSet("port", "7001", "7002")->changed);
  EXPECT_EQ(*jobs[2].store().Append("port", "!"), 5);
  EXPECT_TRUE(*jobs[0].store().Delete("port"));
}

TEST(StoreTest, RanksMeetAtABarrierAndPassElements) {
  Jobs jobs(3);
  std::vector<int64_t> places;
  for (const auto& place : jobs.OnAll([](Job& job) { return job.store().Barrier("met", 3); })) {
    places.push_back(*place);
  }
  EXPECT_THAT(places, UnorderedElementsAre(1, 2, 3));
  auto pops = Start([&] { return jobs[1].store().Pop("work"); });
  EXPECT_TRUE(jobs[0].store().Push("work", "first").ok());
  EXPECT_EQ(*pops.get(), "first");
  EXPECT_EQ(*jobs[2].store().Length("work"), 0);
}

TEST(StoreTest, ErrorsNameWhatWasMissing) {
  Jobs jobs(1);
  const Store store = jobs[0].store();
  EXPECT_THAT(Message(store.Get("absent", Soon())), HasSubstr("'absent'"));
  EXPECT_THAT(Message(store.Wait({"absent", "missing"}, Soon())), HasSubstr("'missing'"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(store.Pop("empty", Soon()).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(store.Barrier("met", 2, Soon()).status()));
  ASSERT_TRUE(store.Set("text", "abc").ok());
  EXPECT_EQ(store.Add("text", 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store.Push("text", "x").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(StoreTest, CancelEndsAWait) {
  Jobs jobs(1);
  Cancellation cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  auto pops = Start([&] { return jobs[0].store().Pop("empty", options); });
  cancellation.Cancel();
  EXPECT_TRUE(absl::IsCancelled(pops.get().status()));
  EXPECT_TRUE(jobs[0].store().Push("empty", "element").ok());
  EXPECT_EQ(*jobs[0].store().Pop("empty"), "element");
}

TEST(StoreTest, KeysSurviveAKilledDaemon) {
  Jobs jobs(3);
  ASSERT_TRUE(jobs[0].store().Set("a", "1").ok());
  ASSERT_TRUE(jobs[1].store().Push("queue", "first").ok());
  ASSERT_TRUE(jobs[2].store().Add("n", 5).ok());
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_EQ(*jobs[1].store().Get("a"), "1");
  EXPECT_EQ(*jobs[2].store().Pop("queue"), "first");
  EXPECT_EQ(*jobs[0].store().Add("n", 1), 6);
}

TEST(StoreTest, CallsThatWaitSurviveAKilledDaemon) {
  Jobs jobs(3);
  for (const auto& joined : jobs.OnAll([](Job& job) { return job.store().Add("joined", 1); })) {
    ASSERT_TRUE(joined.ok());
  }
  auto gets = Start([&] { return jobs[0].store().Get("later"); });
  auto pops = Start([&] { return jobs[1].store().Pop("queue"); });
  auto arrives = Start([&] { return jobs[2].store().Barrier("met", 2); });
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  EXPECT_TRUE(jobs[2].store().Set("later", "value").ok());
  EXPECT_TRUE(jobs[2].store().Push("queue", "element").ok());
  EXPECT_TRUE(jobs[0].store().Barrier("met", 2).ok());
  EXPECT_EQ(*gets.get(), "value");
  EXPECT_EQ(*pops.get(), "element");
  EXPECT_TRUE(arrives.get().ok());
}

// Each addition counts once, whenever the daemon is killed.
TEST(StoreTest, AddsCountOnceAcrossKills) {
  Jobs jobs(3);
  constexpr int kAdds = 200;
  std::vector<std::future<int>> adders;
  for (int rank = 0; rank < 3; ++rank) {
    adders.push_back(Start([&jobs, rank] {
      int failed = 0;
      for (int i = 0; i < kAdds; ++i) failed += jobs[rank].store().Add("n", 1).ok() ? 0 : 1;
      return failed;
    }));
  }
  for (int kill = 0; kill < 3; ++kill) {
    jobs.KillDaemon();
    jobs.StartDaemonAgain();
    EXPECT_TRUE(jobs[0].store().Append("kills", ".").ok());
  }
  for (auto& failed : adders) EXPECT_EQ(failed.get(), 0);
  EXPECT_EQ(*jobs[0].store().Get("n"), absl::StrCat(3 * kAdds));
  EXPECT_EQ(*jobs[1].store().Get("kills"), "...");
}

TEST(StoreTest, AWatchSeesEachKeyAcrossAKill) {
  Jobs jobs(2);
  std::mutex mutex;
  std::map<std::string, std::string> known;
  std::promise<void> done;
  const auto watch = jobs[1].store().Watch("k/", [&](const absl::StatusOr<StoreEvent>& event) {
    if (!event.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex);
    if (event->kind == StoreEvent::Kind::kDeleted) {
      known.erase(event->key);
    } else {
      known[event->key] = event->value;
    }
    if (event->key == "k/end") done.set_value();
  });
  ASSERT_TRUE(watch.ok());
  ASSERT_TRUE(jobs[0].store().Set("k/1", "a").ok());
  ASSERT_TRUE(jobs[0].store().Set("k/2", "a").ok());
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  ASSERT_TRUE(*jobs[0].store().Delete("k/1"));
  ASSERT_TRUE(jobs[0].store().Set("k/end", "b").ok());
  done.get_future().wait();
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(known, (std::map<std::string, std::string>{{"k/2", "a"}, {"k/end", "b"}}));
}

TEST(StoreTest, KeysOutliveTheRankThatSetThem) {
  Jobs jobs(3);
  for (const auto& joined : jobs.OnAll([](Job& job) { return job.store().Add("joined", 1); })) {
    ASSERT_TRUE(joined.ok());
  }
  ASSERT_TRUE(jobs[0].store().Set("a", "1").ok());
  jobs.Destroy(0);
  EXPECT_EQ(*jobs[1].store().Get("a"), "1");
}

}  // namespace
}  // namespace muster::testing
