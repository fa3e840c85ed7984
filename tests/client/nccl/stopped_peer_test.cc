// A rank whose peer has stopped NCCL never takes for a result what the peer has left behind, on
// NCCL's own host code.

#include <signal.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/nccl_job.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// One rank does not come, rank `first` gives up, and the third one hears of that.
void ExpectToHear(int listener, int first, const Words& scenario, const Variables& env = {}) {
  auto job = NcclJob::Start(3, scenario, env);
  EXPECT_THAT(job->OutputOf(first, kSuccess), HasSubstr("ended: DEADLINE_EXCEEDED"));
  EXPECT_THAT(job->OutputOf(listener, kSuccess),
              AllOf(HasSubstr("ended: UNAVAILABLE"), HasSubstr(job->NameOf(first)),
                    HasSubstr("in time\n")));
  job->OutputOf(3 - first - listener, kSuccess);
}

// The kernel of rank 2 completes with what rank 1 has left behind.
TEST(NcclStoppedPeer, ARankThatGivesUpABroadcastEndsItsNeighbours) {
  ExpectToHear(2, 1, {"give-up-first", "operation=broadcast", "absent=0", "first=1"});
}

TEST(NcclStoppedPeer, ARankThatGivesUpAnAllGatherEndsItsNeighbours) {
  ExpectToHear(1, 0, {"give-up-first", "operation=all-gather", "absent=2", "first=0"});
}

// The kernel of rank 1 waits on.
TEST(NcclStoppedPeer, ARankThatGivesUpAnAllReduceEndsItsNeighbours) {
  ExpectToHear(1, 0, {"give-up-first", "absent=2", "first=0"});
}

TEST(NcclStoppedPeer, ARankThatGivesUpASplitEndsItsNeighbours) {
  ExpectToHear(2, 1, {"give-up-first", "operation=broadcast", "absent=0", "first=1", "split=1"});
}

TEST(NcclStoppedPeer, ARankThatGivesUpWhatSharesResourcesEndsItsNeighbours) {
  ExpectToHear(2, 1, {"give-up-first", "operation=broadcast", "absent=0", "first=1", "split=1"},
               {{"NCCL_COMM_SPLIT_SHARE_RESOURCES", "1"}});
}

TEST(NcclStoppedPeer, ALostRankLeavesNoWrongValues) {
  for (const char* operation : {"all-reduce", "broadcast", "all-gather"}) {
    auto job = NcclJob::Start(3, {"operate-until-loss", absl::StrCat("operation=", operation)});
    for (int rank = 0; rank < 3; ++rank) {
      (*job)[rank].WaitForOutput(absl::StrCat("rank ", rank, " is at work"));
    }
    (*job)[0].Signal(SIGKILL);
    job->OutputOf(0, Exit{true, SIGKILL});
    for (int rank : {1, 2}) {
      EXPECT_THAT(job->OutputOf(rank, kRankError),
                  AllOf(HasSubstr(job->LossOf(0)), Not(HasSubstr("values are wrong"))));
    }
  }
}

}  // namespace
}  // namespace muster::testing
