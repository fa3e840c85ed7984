// The memory that a real musterd keeps. The bounds are generous. They rule out a copy for each
// rank, and one for as long as a call lives. Freed memory returns to the system a moment later.
#include <string>
#include <utility>
#include <vector>

#include "tests/server/service/crowd.h"
#include "tests/server/service/test_job.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process_usage.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

constexpr int64_t kMiB = 1 << 20;

int64_t Resident(TestDaemon& daemon) { return MemoryOf(daemon.process().pid()).resident; }
int64_t Peak(TestDaemon& daemon) { return MemoryOf(daemon.process().pid()).peak; }

void AttachAndJoin(Crowd& crowd) {
  ASSERT_THAT(crowd.Attach(), IsOk());
  ASSERT_THAT(crowd.Join(), IsOk());
}

// Waits until this many ranks have arrived at the world's collective.
void AwaitArrivals(Crowd& crowd, int ranks) {
  AwaitStatus(crowd.stub(), [&](const v1::GetStatusResponse& status) {
    return status.pending_collectives_size() == 1 &&
           status.pending_collectives(0).arrived_ranks_size() == ranks;
  });
}

TEST(MemoryTest, ClaimsAreNotKeptAsLongAsTheirStreams) {
  constexpr int kMembers = 500;
  const auto daemon = TestDaemon::Start();
  Crowd crowd(daemon->address(), kMembers);
  AttachAndJoin(crowd);
  daemon->Kill();
  crowd.Disconnect();
  daemon->Restart();
  const int64_t before = Resident(*daemon);
  ASSERT_THAT(crowd.Attach(), IsOk());
  AwaitStatus(crowd.stub(), [](const v1::GetStatusResponse& status) {
    return status.state() == v1::JOB_STATE_RUNNING;
  });
  // 500 rosters of 500 entries take 90 MB as parsed requests.
  EXPECT_TRUE(WaitUntil([&] { return Resident(*daemon) - before < 50 * kMiB; }));
}

TEST(MemoryTest, AParkedPayloadIsHeldOnce) {
  constexpr int kMembers = 9;
  const auto daemon = TestDaemon::Start();
  Crowd crowd(daemon->address(), kMembers);
  AttachAndJoin(crowd);
  const int64_t before = Resident(*daemon);
  const std::string payload(8 * kMiB, 'x');
  std::vector<Crowd::AllGatherCall> calls;
  for (int rank = 1; rank < kMembers; ++rank) calls.push_back(crowd.AllGather(rank, payload));
  AwaitArrivals(crowd, kMembers - 1);
  // Two copies would take 160 MiB.
  EXPECT_TRUE(WaitUntil([&] { return Resident(*daemon) - before < 64 * kMiB * 7 / 4; }));
}

TEST(MemoryTest, RanksShareTheMemoryOfTheirAnswer) {
  constexpr int kMembers = 15;
  const auto daemon = TestDaemon::Start();
  Crowd crowd(daemon->address(), kMembers);
  AttachAndJoin(crowd);
  const int64_t before = Resident(*daemon);
  const std::string payload(8 * kMiB, 'x');
  std::vector<Crowd::AllGatherCall> calls = crowd.AllGatherOfAll(payload);
  // A copy for each of the 15 ranks would take 1.8 GB.
  EXPECT_LT(Peak(*daemon) - before, 2 * kMembers * 8 * kMiB);
  const absl::StatusOr<v1::AllGatherResponse> answer = calls[0]->Read();
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(answer->payloads(), ::testing::Each(payload));
  EXPECT_EQ(answer->payloads_size(), kMembers);
}

TEST(MemoryTest, ALaterSendOfACallReplacesTheAnswerToAnEarlierOne) {
  const auto daemon = TestDaemon::Start();
  Crowd crowd(daemon->address(), 2);
  AttachAndJoin(crowd);
  const std::string payload(4 * kMiB, 'x');
  std::vector<Crowd::AllGatherCall> calls = crowd.AllGatherOfAll(payload);
  for (int i = 0; i < 40; ++i) calls.push_back(crowd.RetryAllGather(0, payload));
  EXPECT_THAT(calls.back()->Read(), IsOk());
  calls.pop_back();
  EXPECT_THAT(calls[0]->Read(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  for (size_t i = 2; i < calls.size(); ++i) {
    EXPECT_THAT(calls[i]->Read(), StatusIs(absl::StatusCode::kCancelled, ::testing::_)) << i;
  }
}

TEST(MemoryTest, UnreadAnswersAreBounded) {
  const auto daemon = TestDaemon::Start({"--max-held-bytes=67108864"});
  Crowd crowd(daemon->address(), 1);
  AttachAndJoin(crowd);
  const int64_t before = Resident(*daemon);
  const std::string payload(16 * kMiB, 'x');
  std::vector<Crowd::AllGatherCall> calls;
  for (int i = 0; i < 40; ++i) {
    calls.push_back(crowd.AllGather(0, payload));
    calls.back()->AwaitAnswer();
  }
  EXPECT_TRUE(WaitUntil([&] { return Resident(*daemon) - before < 320 * kMiB; }));  // of 640 MiB
  EXPECT_THAT(calls.front()->Read(), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(calls.back()->Read(), IsOk());
}

TEST(MemoryTest, ANewSessionDropsTheUnreadAnswersOfTheOldSession) {
  const auto daemon = TestDaemon::Start({"--member-grace=1m"});
  Crowd crowd(daemon->address(), 2);
  AttachAndJoin(crowd);
  const std::vector<Crowd::AllGatherCall> calls = crowd.AllGatherOfAll(std::string(16 * kMiB, 'x'));
  crowd.Disconnect();
  ASSERT_THAT(crowd.Attach(), IsOk());
  EXPECT_THAT(calls[0]->Read(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace muster::testing
