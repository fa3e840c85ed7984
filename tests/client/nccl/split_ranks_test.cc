// Tests which ranks are in which part of a communicator that is split or shrunk.

#include "client/nccl/bootstrap/split_ranks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/error_facts.h"
#include "tests/util/fakes/fake_job.h"

namespace muster::internal {
namespace {

using ::muster::testing::FakeJob;
using ::muster::testing::FakeJobOptions;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Ranks 1, 3 and 2 of a FakeJob, in this order, as the ranks of a communicator.
const std::vector<std::string> kIncarnations = {"incarnation-1", "incarnation-3", "incarnation-2"};

// Node and pid are not enough: containers with the same node id may all have pid 1.
TEST(SplitRanksOfTest, MembersAreFoundByTheirIncarnation) {
  FakeJobOptions options;
  options.size = 4;
  options.one_pid = true;
  FakeJob job(options);
  const absl::StatusOr<SplitRanks> part = SplitRanksOf(kIncarnations, 2, job.group(2, "g", {2, 1}));
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(*part, ElementsAre(2, 0));
}

TEST(SplitRanksOfTest, AnUnknownMemberIsNamed) {
  FakeJob job(4);
  const absl::Status status = SplitRanksOf(kIncarnations, 2, job.group(2, "g", {0, 2})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0 (node 'node-0', pid 1000)"));
}

TEST(SplitRanksOfTest, APartWithoutTheOwnRankIsRejected) {
  FakeJob job(4);
  const absl::Status status = SplitRanksOf(kIncarnations, 0, job.group(2, "g", {2, 3})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(ranks 1-2 of the communicator) is without "
                                                       "rank 0"));
}

TEST(CheckSplitRanksTest, DisjointPartsAndRanksInNoneAreRight) {
  FakeJob job(4);
  EXPECT_TRUE(CheckSplitRanks(job.world(0), {{2, 0}, {}, {2, 0}, {3}}).ok());
}

TEST(CheckSplitRanksTest, RanksThatDoNotAgreeAreNamed) {
  FakeJob job(4);
  const std::vector<std::vector<SplitRanks>> wrong = {
      {{0, 1}, {1}, {}, {}},     // overlap
      {{0, 1}, {}, {}, {}},      // one rank is in no part
      {{0, 1}, {1, 0}, {}, {}},  // another order
  };
  for (const std::vector<SplitRanks>& parts : wrong) {
    const absl::Status status = CheckSplitRanks(job.world(2), parts);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("rank 0 (node 'node-0', pid 1000) asks for ranks 0-1"),
                      HasSubstr("rank 1 (node 'node-1', pid 1001)")));
  }
}

TEST(ExchangeSplitRanksTest, ARankThatCannotTakePartFailsTheExchangeOnAllRanks) {
  FakeJob job(3);
  job.Run([](int rank, const Group& world) {
    const absl::StatusOr<SplitRanks> own =
        rank == 2 ? absl::StatusOr<SplitRanks>(absl::InvalidArgumentError("a stranger"))
                  : SplitRanks{0, 1};
    const absl::Status status = ExchangeSplitRanks(world, "splitting the communicator", own,
                                                   Deadline(absl::Seconds(60), nullptr))
                                    .status();
    if (rank == 2) {
      EXPECT_EQ(status, own.status());
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_EQ(status.message(),
                "rank 2 (node 'node-2', pid 1002) cannot take part in splitting the communicator: "
                "a stranger");
      EXPECT_EQ(FactsOf(status).rank, 2);
    }
  });
}

}  // namespace
}  // namespace muster::internal
