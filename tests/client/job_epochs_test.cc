// Tests of what a Job keeps of its epochs.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
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

}  // namespace
}  // namespace muster::testing
