// Tests of the real NCCL's collectives on the CPU: their values, over shared memory and over
// sockets.

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nccl/real/kernel_rank.h"

namespace muster::testing {
namespace {

// Returns numbers of elements: some that leave ranks without data, and some of many chunks. Eight
// ranks on a small machine take too long for the largest.
std::vector<size_t> Counts(const Rank& rank) {
  if (rank.size() == 8) return {1, 1000, 100'003};
  return {1, 3, 1000, 100'003, 1'500'000};
}

class NcclKernels : public ::testing::TestWithParam<Layout> {};

TEST_P(NcclKernels, AllReduce) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : Counts(rank)) {
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> output(count);
      EXPECT_EQ(ncclAllReduce(input.data(), output.data(), count, ncclFloat, ncclSum, rank.comm(),
                              rank.stream()),
                ncclSuccess);
      EXPECT_EQ(ncclAllReduce(input.data(), input.data(), count, ncclFloat, ncclSum, rank.comm(),
                              rank.stream()),
                ncclSuccess);
      rank.Wait();
      ExpectSame(output.Get(), SumOf(rank.size(), count), Elements(count));
      ExpectSame(input.Get(), SumOf(rank.size(), count), Elements(count) + " in place");
    }
  });
}

TEST_P(NcclKernels, BroadcastAndReduce) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : Counts(rank)) {
      const int root = static_cast<int>(count % rank.size());
      const bool is_root = rank.rank() == root;
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> from_root(count);
      Buffer<float> sum(count);
      EXPECT_EQ(ncclBroadcast(input.data(), from_root.data(), count, ncclFloat, root, rank.comm(),
                              rank.stream()),
                ncclSuccess);
      EXPECT_EQ(ncclReduce(input.data(), is_root ? sum.data() : nullptr, count, ncclFloat, ncclSum,
                           root, rank.comm(), rank.stream()),
                ncclSuccess);
      EXPECT_EQ(ncclBroadcast(input.data(), input.data(), count, ncclFloat, root, rank.comm(),
                              rank.stream()),
                ncclSuccess);
      rank.Wait();
      ExpectSame(from_root.Get(), InputOf(root, count), "broadcast of " + Elements(count));
      ExpectSame(input.Get(), InputOf(root, count), "broadcast in place of " + Elements(count));
      if (is_root) ExpectSame(sum.Get(), SumOf(rank.size(), count), "reduce " + Elements(count));
    }
  });
}

TEST_P(NcclKernels, AllGatherAndReduceScatter) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : Counts(rank)) {
      const size_t total = count * rank.size();
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> all(total);
      Buffer<float> whole(InputOf(rank.rank(), total));
      Buffer<float> part(count);
      EXPECT_EQ(
          ncclAllGather(input.data(), all.data(), count, ncclFloat, rank.comm(), rank.stream()),
          ncclSuccess);
      EXPECT_EQ(ncclReduceScatter(whole.data(), part.data(), count, ncclFloat, ncclSum, rank.comm(),
                                  rank.stream()),
                ncclSuccess);
      float* const own_place = whole.data() + rank.rank() * count;
      EXPECT_EQ(cudaMemcpyAsync(own_place, input.data(), count * sizeof(float),
                                cudaMemcpyDeviceToDevice, rank.stream()),
                cudaSuccess);
      EXPECT_EQ(
          ncclAllGather(own_place, whole.data(), count, ncclFloat, rank.comm(), rank.stream()),
          ncclSuccess);
      rank.Wait();
      ExpectSame(all.Get(), Concatenated(rank.size(), count), "all-gather of " + Elements(count));
      ExpectSame(whole.Get(), Concatenated(rank.size(), count), "in place of " + Elements(count));
      const std::vector<float> sum = SumOf(rank.size(), total);
      const auto begin = sum.begin() + rank.rank() * count;
      ExpectSame(part.Get(), {begin, begin + count}, "reduce-scatter of " + Elements(count));
    }
  });
}

TEST_P(NcclKernels, SendAndReceiveAroundTheRing) {
  ForEachRank(GetParam(), [](Rank& rank) {
    std::vector<size_t> counts = Counts(rank);
    counts.push_back(0);
    for (const size_t count : counts) {
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> output(count);
      EXPECT_EQ(ncclGroupStart(), ncclSuccess);
      EXPECT_EQ(ncclSend(input.data(), count, ncclFloat, rank.next(), rank.comm(), rank.stream()),
                ncclSuccess);
      EXPECT_EQ(
          ncclRecv(output.data(), count, ncclFloat, rank.previous(), rank.comm(), rank.stream()),
          ncclSuccess);
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
      rank.Wait();
      ExpectSame(output.Get(), InputOf(rank.previous(), count), Elements(count));
    }
  });
}

// Every rank sends to every rank, including itself, twice in one group.
TEST_P(NcclKernels, AllToAll) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : {1, 1000, 200'000}) {
      const size_t total = 2 * count * rank.size();
      Buffer<float> input(InputOf(rank.rank(), total));
      Buffer<float> output(total);
      EXPECT_EQ(ncclGroupStart(), ncclSuccess);
      for (size_t part = 0; part < static_cast<size_t>(2 * rank.size()); ++part) {
        const int peer = static_cast<int>(part / 2);
        const size_t offset = part * count;
        EXPECT_EQ(
            ncclSend(input.data() + offset, count, ncclFloat, peer, rank.comm(), rank.stream()),
            ncclSuccess);
        EXPECT_EQ(
            ncclRecv(output.data() + offset, count, ncclFloat, peer, rank.comm(), rank.stream()),
            ncclSuccess);
      }
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
      rank.Wait();
      std::vector<float> want;
      for (int peer = 0; peer < rank.size(); ++peer) {
        const std::vector<float> sent = InputOf(peer, total);
        const auto begin = sent.begin() + 2 * rank.rank() * count;
        want.insert(want.end(), begin, begin + 2 * count);
      }
      ExpectSame(output.Get(), want, Elements(count));
    }
  });
}

// NCCL 2.30 makes one kernel of these broadcasts.
TEST_P(NcclKernels, GroupedBroadcastsFromAllRanks) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : {1, 1000, 300'000}) {
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> all(count * rank.size());
      EXPECT_EQ(ncclGroupStart(), ncclSuccess);
      for (int root = 0; root < rank.size(); ++root) {
        EXPECT_EQ(ncclBroadcast(input.data(), all.data() + root * count, count, ncclFloat, root,
                                rank.comm(), rank.stream()),
                  ncclSuccess);
      }
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
      rank.Wait();
      ExpectSame(all.Get(), Concatenated(rank.size(), count), Elements(count));
    }
  });
}

// Collectives that cut their chunks differently share connections. Hundreds of them are in progress
// at a time, more than NCCL's ring of work holds.
TEST_P(NcclKernels, ManyInARow) {
  ForEachRank(GetParam(), [](Rank& rank) {
    constexpr int kRounds = 150;
    constexpr size_t kCount = 5000;
    Buffer<float> input(InputOf(rank.rank(), kCount));
    Buffer<float> sum(kCount);
    Buffer<float> all(kCount * rank.size());
    Buffer<float> received(kCount);
    for (int round = 0; round < kRounds; ++round) {
      const int root = round % rank.size();
      ncclAllReduce(input.data(), sum.data(), kCount, ncclFloat, ncclSum, rank.comm(),
                    rank.stream());
      ncclBroadcast(input.data(), received.data(), kCount - round, ncclFloat, root, rank.comm(),
                    rank.stream());
      ncclGroupStart();
      ncclSend(sum.data(), kCount - round, ncclFloat, rank.next(), rank.comm(), rank.stream());
      ncclRecv(received.data(), kCount - round, ncclFloat, rank.previous(), rank.comm(),
               rank.stream());
      ncclGroupEnd();
      EXPECT_EQ(
          ncclAllGather(input.data(), all.data(), kCount, ncclFloat, rank.comm(), rank.stream()),
          ncclSuccess);
    }
    rank.Wait();
    std::vector<float> want = SumOf(rank.size(), kCount);
    ExpectSame(sum.Get(), want, "all-reduce");
    ExpectSame(all.Get(), Concatenated(rank.size(), kCount), "all-gather");
    std::vector<float> got = received.Get();
    got.resize(kCount - kRounds);
    want.resize(kCount - kRounds);
    ExpectSame(got, want, "received");
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, NcclKernels,
                         ::testing::Values(Layout{"TwoRanksShm", 2, 2}, Layout{"TwoRanksNet", 2, 1},
                                           Layout{"FourRanksTwoNodes", 4, 2},
                                           Layout{"ThreeRanksManyChannels", 3, 3, "4"},
                                           Layout{"EightRanksTwoNodes", 8, 4}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace muster::testing
