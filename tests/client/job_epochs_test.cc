// Tests of what a Job keeps of its epochs.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/communicator.h"
#include "muster/job.h"
#include "tests/util/fakes/stub_control_plane.h"

namespace muster::testing {
namespace {

// A control plane of an epoch that may have a successor. Counts the objects that are alive.
class CountedEpoch final : public StubControlPlane {
 public:
  CountedEpoch(uint64_t number, std::atomic<int>* alive)
      : StubControlPlane("counted", {Member{0, 0, 0, "node", "host", 1}}, 0),
        number_(number),
        alive_(*alive) {
    ++alive_;
  }
  ~CountedEpoch() override { --alive_; }

  uint64_t epoch() const override { return number_; }
  absl::StatusOr<std::vector<std::string>> RunCollective(const std::string&,
                                                         const std::vector<int>&,
                                                         internal::CollectiveCall,
                                                         const CallOptions&) override {
    return absl::AbortedError(absl::StrCat("epoch ", number_, " has ended"));
  }
  absl::StatusOr<std::unique_ptr<internal::ControlPlane>> Rejoin(const CallOptions&) override {
    return std::make_unique<CountedEpoch>(number_ + 1, &alive_);
  }

 private:
  const uint64_t number_;
  std::atomic<int>& alive_;
};

TEST(JobEpochsTest, UnusedEpochsAreFreed) {
  std::atomic<int> alive{0};
  {
    Job job(std::make_shared<CountedEpoch>(1, &alive));
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(job.Rejoin().ok());
    EXPECT_EQ(job.epoch(), 101u);
    EXPECT_LE(alive, 2);
  }
  EXPECT_EQ(alive, 0);
}

TEST(JobEpochsTest, AnEpochLivesAsLongAsItsObjects) {
  std::atomic<int> alive{0};
  std::optional<Job> job(std::make_shared<CountedEpoch>(1, &alive));
  const Group first = job->world();
  const Member& member = job->self();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(job->Rejoin().ok());
  EXPECT_EQ(first.Barrier(), absl::AbortedError("epoch 1 has ended"));
  EXPECT_EQ(&first.member(0), &member);
  job.reset();
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(first.member(0).node_id, "node");
}

// A job of two ranks that always agree.
class AgreeingRanks final : public StubControlPlane {
 public:
  AgreeingRanks()
      : StubControlPlane("agreeing", {Member{0, 0, 0, "a", "a", 1}, Member{1, 1, 0, "b", "b", 2}},
                         0) {}

  absl::StatusOr<std::vector<std::string>> RunCollective(const std::string& group,
                                                         const std::vector<int>& ranks,
                                                         internal::CollectiveCall call,
                                                         const CallOptions&) override {
    groups_.push_back(group);
    return std::vector<std::string>(ranks.size(), call.payload);
  }
  std::vector<std::string> TakeGroups() { return std::exchange(groups_, {}); }

 private:
  std::vector<std::string> groups_;
};

// Fails to create a communicator. What the ranks have sent for it must not be sent again.
void FailIn(Job& job, const std::string& group) {
  CommunicatorOptions options;
  options.backend = "none";
  EXPECT_FALSE(Communicator::Create(*job.NewGroup(group, {0, 1}), options).ok());
}

TEST(JobEpochsTest, AGroupIsMadeAgainWithoutTheNamesOfItsFailedCalls) {
  const auto ranks = std::make_shared<AgreeingRanks>();
  Job job(ranks);
  std::set<std::string> used;
  for (int i = 0; i < 100; ++i) {
    const std::string group = absl::StrCat("group ", i % 3);
    FailIn(job, group);
    for (const std::string& one : ranks->TakeGroups()) {
      EXPECT_TRUE(one == group || used.insert(one).second) << one << " is used again";
    }
  }
  EXPECT_EQ(used.size(), 100u);
}

TEST(JobEpochsTest, AFailedCallInANewGroupPerStepLeavesNothing) {
  const auto ranks = std::make_shared<AgreeingRanks>();
  Job job(ranks);
  const auto run = [&](int first, int last) {
    for (int step = first; step < last; ++step) {
      FailIn(job, absl::StrCat(std::string(100, 'x'), step));
      ranks->TakeGroups();
    }
    return mallinfo2().uordblks;
  };
  const size_t before = run(0, 100);
  EXPECT_LE(run(100, 1100), before + (32 << 10)) << "32 bytes a step";
}

}  // namespace
}  // namespace muster::testing
