// Tests how the plug-in counts operations of programs that do not know of Muster, on NCCL's own
// host code.

#include <nccl.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/rank_activity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/watched_rank.h"
#include "tests/nccl/real/kernel_rank.h"
#include "tests/util/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kPlugin[] = "client/nccl/profiler/libnccl-profiler-muster.so";
constexpr int kCount = 1000;
constexpr absl::Duration kPatience = absl::Seconds(60);

// A rank of a program that calls NCCL itself.
class Program {
 public:
  Program(int rank, Board& board) : rank_(Layout{"two", 2, 2}, rank, board), data_(kCount) {}

  void AllReduce() {
    EXPECT_EQ(ncclAllReduce(data_.data(), data_.data(), kCount, ncclFloat32, ncclSum, comm(),
                            rank_.stream()),
              ncclSuccess);
  }
  void Send(int peer) {
    EXPECT_EQ(ncclSend(data_.data(), kCount, ncclFloat32, peer, comm(), rank_.stream()),
              ncclSuccess);
  }
  void Recv(int peer) {
    EXPECT_EQ(ncclRecv(data_.data(), kCount, ncclFloat32, peer, comm(), rank_.stream()),
              ncclSuccess);
  }
  void Wait() const { rank_.Wait(); }
  void Abort() { rank_.Abort(); }
  ncclComm_t comm() const { return rank_.comm(); }

 private:
  Rank rank_;
  Buffer<float> data_;
};

// Waits until NCCL's proxy threads have seen the end of the GPU's operations, which takes a while.
void AwaitEnded(const RankActivity& activity, uint64_t ended) {
  const auto same = [&] { return Only(activity).ended == ended; };
  EXPECT_TRUE(WaitUntil(same, kPatience)) << Only(activity).ended << " have ended, not " << ended;
}

void ExpectRanks(const std::function<void(int rank, Board& board)>& body) {
  ExpectForked(2, body, {{"NCCL_PROFILER_PLUGIN", kPlugin}});
}

TEST(Profiler, SaysWhatTheGpuHasDone) {
  ExpectRanks([](int rank, Board& board) {
    const std::unique_ptr<RankActivity> activity = Watch();
    Program self(rank, board);
    EXPECT_THAT(Only(*activity).name, StartsWith("NCCL communicator "));
    EXPECT_EQ(Only(*activity).begun, 0);
    for (int i = 0; i < 3; ++i) self.AllReduce();
    self.Wait();
    AwaitEnded(*activity, 3);
    EXPECT_EQ(Only(*activity).begun, 3);
    EXPECT_EQ(Only(*activity).operation, "AllReduce");
    EXPECT_EQ(Only(*activity).bytes, kCount * sizeof(float));
    board.Meet(2);
    self.Abort();
    EXPECT_THAT(activity->Read(), IsEmpty());
  });
}

TEST(Profiler, ShowsWhoHasNotCalledTheOperationThatTheOthersWaitIn) {
  ExpectRanks([](int rank, Board& board) {
    const std::unique_ptr<RankActivity> activity = Watch();
    Program self(rank, board);
    for (int i = 0; i < 5; ++i) self.AllReduce();
    self.Wait();
    AwaitEnded(*activity, 5);
    if (rank == 0) self.AllReduce();  // rank 1 does not come
    EXPECT_EQ(Only(*activity).begun, rank == 0 ? 6 : 5);
    EXPECT_EQ(Only(*activity).ended, 5);
    board.Meet(2);
    self.Abort();
  });
}

TEST(Profiler, PointToPointOperationsAreNotCounted) {
  ExpectRanks([](int rank, Board& board) {
    const std::unique_ptr<RankActivity> activity = Watch();
    Program self(rank, board);
    if (rank == 0) self.Send(1);
    if (rank == 1) self.Recv(0);
    self.Wait();
    EXPECT_EQ(Only(*activity).begun, 0);
    board.Meet(2);
    self.Abort();
  });
}

TEST(Profiler, RanksNameACommunicatorAlikeAndItsChildrenDifferently) {
  ExpectRanks([](int rank, Board& board) {
    const std::unique_ptr<RankActivity> activity = Watch();
    Program self(rank, board);
    ncclComm_t part = nullptr;
    EXPECT_EQ(ncclCommSplit(self.comm(), /*color=*/0, rank, &part, nullptr), ncclSuccess);
    const std::vector<CommunicatorActivity> all = activity->Read();
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_NE(all[0].name, all[1].name);
    // The ranks compare this number: 64 bits, like an id of NCCL's.
    ncclUniqueId name = {};
    all[1].name.copy(name.internal, sizeof(name.internal) - 1);
    if (rank == 0) board.Put(1, name);
    EXPECT_EQ(std::string(board.Get(1).internal), all[1].name);
    EXPECT_EQ(ncclCommAbort(part), ncclSuccess);
    self.Abort();
  });
}

TEST(Profiler, WithoutALauncherNothingIsCountedAndNothingBreaks) {
  ExpectRanks([](int rank, Board& board) {
    Program self(rank, board);
    self.AllReduce();
    self.Wait();
    board.Meet(2);
    self.Abort();
  });
}

}  // namespace
}  // namespace muster::testing
