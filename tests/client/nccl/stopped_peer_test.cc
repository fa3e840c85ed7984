// Tests of ranks whose peer has stopped NCCL, on NCCL's own host code. They must never return what
// the peer has left behind as a result.

#include <signal.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs a job in which one rank does not come, rank `first` gives up, and rank `neighbour` must hear
// of that.
void ExpectNeighbourEnds(int neighbour, int first, const Args& scenario,
                         const Variables& env = {}) {
  auto job = NcclJob::Start(3, scenario, env);
  EXPECT_THAT(job->OutputOf(first, kSuccess), HasSubstr("ended: DEADLINE_EXCEEDED"));
  EXPECT_THAT(job->OutputOf(neighbour, kSuccess),
              AllOf(HasSubstr("ended: DEADLINE_EXCEEDED"), HasSubstr(job->NameOf(first)),
                    HasSubstr("in time\n")));
  job->OutputOf(3 - first - neighbour, kSuccess);
}

// The kernel of rank 2 completes, with what rank 1 has left behind.
TEST(NcclStoppedPeer, ARankThatGivesUpABroadcastEndsItsNeighbours) {
  ExpectNeighbourEnds(2, 1, {"give-up-first", "operation=broadcast", "absent=0", "first=1"});
}

TEST(NcclStoppedPeer, ARankThatGivesUpAnAllGatherEndsItsNeighbours) {
  ExpectNeighbourEnds(1, 0, {"give-up-first", "operation=all-gather", "absent=2", "first=0"});
}

// The kernel of rank 1 still waits.
TEST(NcclStoppedPeer, ARankThatGivesUpAnAllReduceEndsItsNeighbours) {
  ExpectNeighbourEnds(1, 0, {"give-up-first", "absent=2", "first=0"});
}

TEST(NcclStoppedPeer, ARankThatGivesUpASplitEndsItsNeighbours) {
  ExpectNeighbourEnds(2, 1,
                      {"give-up-first", "operation=broadcast", "absent=0", "first=1", "split=1"});
}

TEST(NcclStoppedPeer, ARankThatGivesUpASharedCommunicatorEndsItsNeighbours) {
  ExpectNeighbourEnds(2, 1,
                      {"give-up-first", "operation=broadcast", "absent=0", "first=1", "split=1"},
                      {{"NCCL_COMM_SPLIT_SHARE_RESOURCES", "1"}});
}

// A revocation that fails has not checked whether the GPU's work has ended. ncclCommAbort then
// waits for threads that the revocation should have ended (src/init.cc, commReclaim).
TEST(NcclStoppedPeer, ARevocationThatFailsLeavesTheBuffersInUse) {
  auto job = NcclJob::Start(2, {"give-up-first", "absent=1", "first=0"}, {},
                            {{0, {{"MUSTER_TEST_NCCL_FAULTS", "revoke-fails"}}}});
  EXPECT_THAT(
      job->OutputOf(0, kRankError),
      AllOf(HasSubstr("revoking the communicator"), HasSubstr("ended: DEADLINE_EXCEEDED"),
            HasSubstr("NCCL has not stopped within 10s, so buffers"), HasSubstr("in time\n")));
  EXPECT_THAT(job->OutputOf(1, kRankError), HasSubstr(job->LossOf(0)));
}

// Kills rank 0 while all ranks run operations, and expects that no rank gets a wrong value.
void ExpectNoWrongValues(int size, const std::string& operation,
                         const std::map<int, Variables>& by_rank = {}) {
  auto job = NcclJob::Start(size, {"operate-until-loss", "operation=" + operation}, {}, by_rank);
  for (int rank = 0; rank < size; ++rank) {
    (*job)[rank].WaitForOutput(absl::StrCat("rank ", rank, " is at work"));
  }
  (*job)[0].Signal(SIGKILL);
  job->OutputOf(0, Exit{true, SIGKILL});
  for (int rank = 1; rank < size; ++rank) {
    EXPECT_THAT(job->OutputOf(rank, kRankError),
                AllOf(HasSubstr(job->LossOf(0)), Not(HasSubstr("values are wrong"))));
  }
}

TEST(NcclStoppedPeer, ALostRankLeavesNoWrongValues) {
  for (const char* operation : {"all-reduce", "broadcast", "all-gather"}) {
    ExpectNoWrongValues(3, operation);
  }
}

TEST(NcclStoppedPeer, ALostRankLeavesNoWrongValuesOnTwoNodes) {
  std::map<int, Variables> by_rank;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string node = absl::StrCat("node-", rank / 2);
    by_rank[rank] = {{"NCCL_HOSTID", node},
                     {"MUSTER_NODE_ID", node},
                     {"CUDA_VISIBLE_DEVICES", absl::StrCat(rank)}};
  }
  for (const char* operation : {"broadcast", "all-gather"}) {
    ExpectNoWrongValues(4, operation, by_rank);
  }
}

}  // namespace
}  // namespace muster::testing
