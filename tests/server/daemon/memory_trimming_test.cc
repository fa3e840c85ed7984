// When musterd returns freed memory to the system, by a stepped clock and in a real process.

#include "server/daemon/memory_trimming.h"

#include <limits>
#include <memory>
#include <string>

#include "tests/server/service/test_job.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process_usage.h"
#include "tests/util/process/wait_until.h"

namespace muster::daemon {
namespace {

constexpr int64_t kMiB = 1 << 20;

class TrimPolicyTest : public ::testing::Test {
 protected:
  // Asks the policy one second later. The process has worked for `busy` of it.
  bool ShouldTrim(int64_t mebibytes, absl::Duration busy = absl::ZeroDuration()) {
    cpu_ += busy;
    return policy_.ShouldTrim(mebibytes * kMiB, cpu_);
  }

  TrimPolicy policy_;
  absl::Duration cpu_;
};

TEST_F(TrimPolicyTest, UnusedMemoryIsTrimmedOnce) {
  EXPECT_TRUE(ShouldTrim(200));
  policy_.Trimmed(20 * kMiB);
  EXPECT_FALSE(ShouldTrim(20));
}

TEST_F(TrimPolicyTest, UntrimmableMemoryIsNotRetried) {
  EXPECT_TRUE(ShouldTrim(200));
  policy_.Trimmed(190 * kMiB);
  EXPECT_FALSE(ShouldTrim(195));
  EXPECT_FALSE(ShouldTrim(195));
  EXPECT_TRUE(ShouldTrim(210));
}

TEST_F(TrimPolicyTest, LaterFreesCountFromTheBaseline) {
  EXPECT_TRUE(ShouldTrim(200));
  policy_.Trimmed(190 * kMiB);
  EXPECT_FALSE(ShouldTrim(50));
  EXPECT_TRUE(ShouldTrim(100));
}

TEST_F(TrimPolicyTest, ABusyProcessDefersTrimmingForABoundedTime) {
  int asked = 1;
  while (!ShouldTrim(200, absl::Milliseconds(900)) && asked < 100) ++asked;
  EXPECT_EQ(asked, 10);
  policy_.Trimmed(20 * kMiB);
  EXPECT_FALSE(ShouldTrim(200, absl::Milliseconds(900)));
  EXPECT_TRUE(ShouldTrim(200, absl::Milliseconds(10)));
}

TEST(MemoryTest, ComesBackAfterLargeCollectives) {
  using namespace testing;  // NOLINT(build/namespaces)
  const auto daemon = TestDaemon::Start();
  const pid_t pid = daemon->process().pid();
  TestJob job(daemon->address(), 8);
  const auto before = MemoryOf(pid).resident;
  for (int round = 0; round < 2; ++round) {
    const auto gathered =
        job.All([](TestMember& m) { return m.AllGather(std::string(3 * kMiB, 'x')).status(); });
    EXPECT_THAT(gathered, ::testing::Each(IsOk()));
  }
  // The next collective replaces the result of the last one.
  EXPECT_THAT(job.All([](TestMember& m) { return m.Barrier(); }), ::testing::Each(IsOk()));
  const int64_t most = before + 30 * kMiB;
  EXPECT_GT(MemoryOf(pid).peak, most) << "there must be something to come back";
  EXPECT_TRUE(WaitUntil([&] { return MemoryOf(pid).resident < most; }))
      << MemoryOf(pid).resident / kMiB << " MiB are left, of " << MemoryOf(pid).peak / kMiB;
}

// Returns the memory of a daemon with this many members that have completed a barrier. Waits for a
// while until it is below `most`, and then returns the last value.
int64_t AtRestWith(int members, int64_t most = std::numeric_limits<int64_t>::max()) {
  using namespace testing;  // NOLINT(build/namespaces)
  const auto daemon = TestDaemon::Start();
  TestJob job(daemon->address(), members);
  EXPECT_THAT(job.All([](TestMember& m) { return m.Barrier(); }), ::testing::Each(IsOk()));
  int64_t bytes = 0;
  WaitUntil([&] { return (bytes = MemoryOf(daemon->process().pid()).resident) < most; });
  return bytes;
}

TEST(MemoryTest, AMemberWithAConnectionOfItsOwnTakesLessThan64KilobytesAtRest) {
  const int64_t few = AtRestWith(50);
  const int64_t most = few + 200 * 64'000;
  EXPECT_LT(AtRestWith(250, most), most);
}

}  // namespace
}  // namespace muster::daemon
