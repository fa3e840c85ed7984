// NCCL's operations, as the plug-in counts them, on the fake NCCL: also those of programs that do
// not know of Muster.
#include <nccl.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/nccl/profiler/operations.h"
#include "common/rank_activity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/forked_ranks.h"

namespace muster {
namespace {

using nccl_profiler::BytesOf;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kPlugin[] = "client/nccl/profiler/libnccl-profiler-muster.so";
constexpr int kCount = 1000;

// A rank of a program that calls NCCL itself.
class Rank {
 public:
  Rank(int rank, int size, testing::Board& board) {
    EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), kCount * sizeof(float)), cudaSuccess);
    if (rank == 0) {
      ncclUniqueId id;
      EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
      board.Put(0, id);
    }
    EXPECT_EQ(ncclCommInitRank(&comm_, size, board.Get(0), rank), ncclSuccess);
  }

  void AllReduce() {
    EXPECT_EQ(ncclAllReduce(data_, data_, kCount, ncclFloat32, ncclSum, comm_, stream_),
              ncclSuccess);
  }
  void Synchronize() { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }
  void Abort() { EXPECT_EQ(ncclCommAbort(comm_), ncclSuccess); }
  ncclComm_t comm() const { return comm_; }
  cudaStream_t stream() const { return stream_; }
  float* data() const { return data_; }

 private:
  cudaStream_t stream_ = nullptr;
  float* data_ = nullptr;
  ncclComm_t comm_ = nullptr;
};

// Of the calling rank, which gets memory for it as a launcher would give it.
std::unique_ptr<RankActivity> Watch() {
  std::unique_ptr<RankActivity> activity = RankActivity::Make().value();
  setenv("MUSTER_ACTIVITY_FILE", activity->path().c_str(), 1);
  return activity;
}

CommunicatorActivity Only(const RankActivity& activity) {
  const std::vector<CommunicatorActivity> all = activity.Read();
  EXPECT_THAT(all, SizeIs(1));
  return all.empty() ? CommunicatorActivity() : all[0];
}

void ExpectRanks(int size, const std::function<void(int rank, testing::Board& board)>& body) {
  testing::ExpectForked(size, body, {{"NCCL_PROFILER_PLUGIN", kPlugin}});
}

TEST(ProfilerTest, SaysWhatTheGpuHasDone) {
  ExpectRanks(2, [](int rank, testing::Board& board) {
    const std::unique_ptr<RankActivity> activity = Watch();
    Rank self(rank, 2, board);
    EXPECT_THAT(Only(*activity).name, StartsWith("NCCL communicator "));
    EXPECT_EQ(Only(*activity).begun, 0);
    for (int i = 0; i < 3; ++i) self.AllReduce();
    self.Synchronize();
    EXPECT_EQ(Only(*activity).begun, 3);
    EXPECT_EQ(Only(*activity).ended, 3);
    EXPECT_EQ(Only(*activity).operation, "AllReduce");
    EXPECT_EQ(Only(*activity).bytes, kCount * sizeof(float));
    board.Meet(2);
    self.Abort();
    EXPECT_THAT(activity->Read(), IsEmpty());
  });
}

TEST(ProfilerTest, ShowsWhoHasNotCalledTheOperationThatTheOthersWaitIn) {
  ExpectRanks(2, [](int rank, testing::Board& board) {
    const std::unique_ptr<RankActivity> activity = Watch();
    Rank self(rank, 2, board);
    for (int i = 0; i < 5; ++i) self.AllReduce();
    self.Synchronize();
    if (rank == 0) self.AllReduce();  // rank 1 does not come
    EXPECT_EQ(Only(*activity).begun, rank == 0 ? 6 : 5);
    EXPECT_EQ(Only(*activity).ended, 5);
    board.Meet(2);
    self.Abort();
  });
}

TEST(ProfilerTest, PointToPointOperationsAreNotCounted) {
  ExpectRanks(2, [](int rank, testing::Board& board) {
    const std::unique_ptr<RankActivity> activity = Watch();
    Rank self(rank, 2, board);
    if (rank == 0) {
      EXPECT_EQ(ncclSend(self.data(), kCount, ncclFloat32, 1, self.comm(), self.stream()),
                ncclSuccess);
    } else {
      EXPECT_EQ(ncclRecv(self.data(), kCount, ncclFloat32, 0, self.comm(), self.stream()),
                ncclSuccess);
    }
    self.Synchronize();
    EXPECT_EQ(Only(*activity).begun, 0);
    board.Meet(2);
    self.Abort();
  });
}

TEST(ProfilerTest, RanksNameACommunicatorAlikeAndItsChildrenDifferently) {
  ExpectRanks(2, [](int rank, testing::Board& board) {
    const std::unique_ptr<RankActivity> activity = Watch();
    Rank self(rank, 2, board);
    ncclComm_t part = nullptr;
    EXPECT_EQ(ncclCommSplit(self.comm(), /*color=*/0, rank, &part, nullptr), ncclSuccess);
    const std::vector<CommunicatorActivity> all = activity->Read();
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_NE(all[0].name, all[1].name);
    // What one rank writes the other compares: 64 bits, as an id of NCCL's.
    ncclUniqueId name = {};
    all[1].name.copy(name.internal, sizeof(name.internal) - 1);
    if (rank == 0) board.Put(1, name);
    EXPECT_EQ(std::string(board.Get(1).internal), all[1].name);
    EXPECT_EQ(ncclCommAbort(part), ncclSuccess);
    self.Abort();
  });
}

TEST(ProfilerTest, WithoutALauncherNothingIsCountedAndNothingBreaks) {
  ExpectRanks(2, [](int rank, testing::Board& board) {
    Rank self(rank, 2, board);
    self.AllReduce();
    self.Synchronize();
    board.Meet(2);
    self.Abort();
  });
}

// Looked for once in a process.
class OperationsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { activity_ = Watch().release(); }
  static RankActivity* activity_;
};
RankActivity* OperationsTest::activity_ = nullptr;

TEST_F(OperationsTest, WhatEndsTwiceOrWasNeverBegunIsIgnored) {
  nccl_profiler::Operations operations("one");
  const uint64_t first = operations.Begin("AllReduce", 4, /*channels=*/2);
  operations.EndChannel(first);
  EXPECT_EQ(Only(*activity_).ended, 0);
  operations.EndChannel(first);
  operations.EndChannel(first);
  operations.EndChannel(0);
  operations.EndChannel(77);
  EXPECT_EQ(Only(*activity_).ended, 1);
  operations.Begin("Broadcast", 4, /*channels=*/0);  // without a kernel
  EXPECT_EQ(Only(*activity_).ended, 2);
}

TEST_F(OperationsTest, WhatIsTooLongAgoCountsAsDone) {
  nccl_profiler::Operations operations("many");
  for (int i = 0; i < 5000; ++i) operations.Begin("AllReduce", 4, 1);
  EXPECT_EQ(Only(*activity_).begun, 5000);
  EXPECT_EQ(Only(*activity_).ended, 5000 - 4096);
}

TEST_F(OperationsTest, SizesOfTypes) {
  EXPECT_EQ(BytesOf("ncclFloat32", 10), 40);
  EXPECT_EQ(BytesOf("ncclBfloat16", 10), 20);
  EXPECT_EQ(BytesOf("ncclFloat8e4m3", 10), 10);
  EXPECT_EQ(BytesOf("somethingNew", 10), 0);
}

}  // namespace
}  // namespace muster
