// Tests what an abort does to a kernel of the real NCCL on the CPU, and what it leaves.

#include <nccl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nccl/real/kernel_rank.h"

namespace muster::testing {
namespace {

using Clock = std::chrono::steady_clock;

// Starts an all-reduce that cannot end, and aborts the communicator. No rank aborts before all have
// met: an aborted kernel still counts its steps, as on a GPU, and so its neighbour's kernel ends
// too.
void ExpectAbortEndsIt(Rank& rank, IdExchange& exchange, int arrivals) {
  constexpr size_t kCount = 1'000'000;
  Buffer<float> buffer(InputOf(rank.rank(), kCount));
  EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), kCount, ncclFloat, ncclSum, rank.comm(),
                          rank.stream()),
            ncclSuccess);
  usleep(300'000);
  EXPECT_FALSE(rank.Idle());
  exchange.AwaitAll(arrivals);
  const Clock::time_point begin = Clock::now();
  rank.Abort();
  rank.Wait();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_NE(buffer.Get(), SumOf(rank.size(), kCount));
}

// Connects the ranks, which NCCL does at the first collective if it uses cuMem. Returns when all
// ranks have what they wait for, since a rank that is killed earlier may not have sent its last
// bytes.
void Connect(Rank& rank, IdExchange& exchange) {
  Buffer<float> buffer(InputOf(rank.rank(), 1));
  EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclFloat, ncclSum, rank.comm(),
                          rank.stream()),
            ncclSuccess);
  rank.Wait();
  exchange.AwaitAll(rank.size());
}

class NcclKernelAbort : public ::testing::TestWithParam<Layout> {};

TEST_P(NcclKernelAbort, EndsAKernelWhosePeerIsMissing) {
  ExpectForked(GetParam().ranks, [](int rank, IdExchange& exchange) {
    Rank self(GetParam(), rank, exchange);
    Connect(self, exchange);
    if (rank != 0) ExpectAbortEndsIt(self, exchange, 2 * self.size());
    exchange.AwaitAll(3 * self.size() - 1);
    if (rank == 0) self.Abort();
  });
}

TEST_P(NcclKernelAbort, EndsAKernelWhosePeerWasKilled) {
  const std::vector<RankExit> ends =
      RunForked(GetParam().ranks, [](int rank, IdExchange& exchange) {
        Rank self(GetParam(), rank, exchange);
        Connect(self, exchange);
        if (rank == 0) kill(getpid(), SIGKILL);
        ExpectAbortEndsIt(self, exchange, 2 * self.size() - 1);
      });
  EXPECT_TRUE(WIFSIGNALED(ends[0].status));
  for (int rank = 1; rank < GetParam().ranks; ++rank) {
    EXPECT_EQ(ends[rank].status, 0) << "rank " << rank << ":\n" << ends[rank].output;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, NcclKernelAbort,
                         ::testing::Values(Layout{"TwoRanksShm", 2, 2}, Layout{"TwoRanksNet", 2, 1},
                                           Layout{"FourRanksTwoNodes", 4, 2}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace muster::testing
