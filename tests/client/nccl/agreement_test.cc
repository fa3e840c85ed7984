// Tests which error each rank returns if NCCL's initialization failed on some ranks.

#include "client/nccl/bootstrap/agreement.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/exit_code.h"
#include "tests/util/fakes/fake_job.h"

namespace muster::internal {
namespace {

using ::muster::testing::FakeJob;
using ::testing::HasSubstr;

const absl::Status kOk;
const absl::Status kTimeout = absl::DeadlineExceededError("initializing NCCL on rank X: too late");
const absl::Status kBroken = absl::UnavailableError("the connection broke");
const absl::Status kNoMemory = absl::InternalError("cudaMalloc failed: out of memory");

class CombineOutcomesTest : public ::testing::Test {
 protected:
  absl::Status Combine(int rank, const std::vector<absl::Status>& outcomes) {
    return CombineOutcomes(job_.world(rank), "initializing NCCL", outcomes);
  }
  FakeJob job_{4};
};

TEST_F(CombineOutcomesTest, AllOkIsOk) { EXPECT_TRUE(Combine(1, {kOk, kOk, kOk, kOk}).ok()); }

TEST_F(CombineOutcomesTest, AHealthyRankNamesTheFailedRankAndItsError) {
  const absl::Status status = Combine(0, {kOk, kOk, kNoMemory, kOk});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      status.message(),
      "initializing NCCL failed on rank 2 (node 'node-2', pid 1002): cudaMalloc failed: out of "
      "memory");
  EXPECT_EQ(ExitCode(status), kExitPeerLost);
}

TEST_F(CombineOutcomesTest, ARankKeepsItsOwnErrorIfNoOtherExplainsMore) {
  EXPECT_EQ(Combine(2, {kTimeout, kBroken, kNoMemory, kOk}), kNoMemory);
  EXPECT_EQ(Combine(1, {kTimeout, kBroken, kOk, kOk}), kBroken);
}

TEST_F(CombineOutcomesTest, AnErrorThatARankCausedExplainsBrokenConnectionsAndTimeouts) {
  const std::vector<absl::Status> outcomes = {kTimeout, kBroken, kNoMemory, kOk};
  for (int rank : {0, 1, 3}) {
    const absl::Status status = Combine(rank, outcomes);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("failed on rank 2"));
  }
}

TEST_F(CombineOutcomesTest, ABrokenConnectionExplainsATimeout) {
  const absl::Status status = Combine(0, {kTimeout, kOk, kOk, kBroken});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 3 (node 'node-3', pid 1003): the conn"));
}

TEST_F(CombineOutcomesTest, TimeoutsNameTheRanksThatTimedOut) {
  const absl::Status late = Combine(1, {kTimeout, kTimeout, kTimeout, kOk});
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("too late; the same on ranks 0-2 of 4"));
  const absl::Status ready = Combine(3, {kTimeout, kTimeout, kTimeout, kOk});
  EXPECT_EQ(ready.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(ready.message()),
              HasSubstr("did not end in time on rank 0 (node 'node-0'"));
}

TEST(AgreementReserveTest, IsAQuarterOfShortTimeoutsAndFiveSecondsOfLongOnes) {
  EXPECT_EQ(AgreementReserve(absl::Seconds(8)), absl::Seconds(2));
  EXPECT_EQ(AgreementReserve(absl::Minutes(30)), absl::Seconds(5));
}

TEST(AgreeOnOutcomeTest, EveryRankLearnsOfAFailure) {
  FakeJob job(3);
  job.Run([](int rank, const Group& world) {
    const absl::Status own = rank == 1 ? kNoMemory : kOk;
    const absl::Status status = AgreeOnOutcome(world, "initializing NCCL", own, absl::Seconds(5),
                                               Deadline(absl::Seconds(60), nullptr));
    if (rank == 1) {
      EXPECT_EQ(status, kNoMemory);
    } else {
      EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 (node 'node-1'"));
    }
  });
}

TEST(AgreeOnOutcomeTest, AFailedRankDoesNotWaitForTheOthersBeyondTheReserve) {
  FakeJob job(2);
  const absl::Status status =
      AgreeOnOutcome(job.world(0), "initializing NCCL", kNoMemory, absl::Milliseconds(20),
                     Deadline(absl::Hours(1), nullptr));
  EXPECT_EQ(status.code(), kNoMemory.code());
  EXPECT_THAT(std::string(status.message()), HasSubstr("out of memory"));
}

TEST(AgreeOnOutcomeTest, ALostMemberIsReportedOnEveryRank) {
  FakeJob job(2);
  job.Lose(1);
  EXPECT_EQ(AgreeOnOutcome(job.world(0), "initializing NCCL", kBroken, absl::Seconds(5),
                           Deadline(absl::Seconds(60), nullptr)),
            FakeJob::LossOf(1));
}

}  // namespace
}  // namespace muster::internal
