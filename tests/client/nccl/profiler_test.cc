// Tests how the plug-in counts operations of programs that do not know of Muster, on NCCL's own
// host code.

#include <nccl.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/memory/activity_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/nccl/watched_rank.h"
#include "tests/nccl/real/kernel_rank.h"
#include "tests/util/process/wait_until.h"

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
  Program(int rank, IdExchange& exchange)
      : rank_(Layout{"two", 2, 2}, rank, exchange), data_(kCount) {}

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
void AwaitEnded(const ActivityReader& activity, uint64_t ended) {
  const auto same = [&] { return OnlyCommunicator(activity).ended == ended; };
  EXPECT_TRUE(WaitUntil(same, kPatience))
      << OnlyCommunicator(activity).ended << " have ended, not " << ended;
}

void ExpectRanks(const std::function<void(int rank, IdExchange& exchange)>& body) {
  ExpectForked(2, body, {{"NCCL_PROFILER_PLUGIN", kPlugin}});
}

TEST(Profiler, CountsOperationsThatTheGpuHasDone) {
  ExpectRanks([](int rank, IdExchange& exchange) {
    const std::unique_ptr<ActivityReader> activity = PublishActivity();
    Program self(rank, exchange);
    EXPECT_THAT(OnlyCommunicator(*activity).name, StartsWith("NCCL communicator "));
    EXPECT_EQ(OnlyCommunicator(*activity).begun, 0);
    for (int i = 0; i < 3; ++i) self.AllReduce();
    self.Wait();
    AwaitEnded(*activity, 3);
    EXPECT_EQ(OnlyCommunicator(*activity).begun, 3);
    EXPECT_EQ(OnlyCommunicator(*activity).operation, "AllReduce");
    EXPECT_EQ(OnlyCommunicator(*activity).bytes, kCount * sizeof(float));
    exchange.AwaitAll(2);
    self.Abort();
    EXPECT_THAT(activity->Read(), IsEmpty());
  });
}

TEST(Profiler, ShowsTheRankThatHasNotCalledAnOperation) {
  ExpectRanks([](int rank, IdExchange& exchange) {
    const std::unique_ptr<ActivityReader> activity = PublishActivity();
    Program self(rank, exchange);
    for (int i = 0; i < 5; ++i) self.AllReduce();
    self.Wait();
    AwaitEnded(*activity, 5);
    if (rank == 0) self.AllReduce();  // rank 1 does not come
    EXPECT_EQ(OnlyCommunicator(*activity).begun, rank == 0 ? 6 : 5);
    EXPECT_EQ(OnlyCommunicator(*activity).ended, 5);
    exchange.AwaitAll(2);
    self.Abort();
  });
}

TEST(Profiler, PointToPointOperationsAreNotCounted) {
  ExpectRanks([](int rank, IdExchange& exchange) {
    const std::unique_ptr<ActivityReader> activity = PublishActivity();
    Program self(rank, exchange);
    if (rank == 0) self.Send(1);
    if (rank == 1) self.Recv(0);
    self.Wait();
    EXPECT_EQ(OnlyCommunicator(*activity).begun, 0);
    exchange.AwaitAll(2);
    self.Abort();
  });
}

TEST(Profiler, NamesAgreeAcrossRanksAndDifferBetweenCommunicators) {
  ExpectRanks([](int rank, IdExchange& exchange) {
    const std::unique_ptr<ActivityReader> activity = PublishActivity();
    Program self(rank, exchange);
    ncclComm_t part = nullptr;
    EXPECT_EQ(ncclCommSplit(self.comm(), /*color=*/0, rank, &part, nullptr), ncclSuccess);
    const std::vector<CommunicatorActivity> all = activity->Read();
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_NE(all[0].name, all[1].name);
    // The ranks compare this number: 64 bits, like an id of NCCL's.
    ncclUniqueId name = {};
    all[1].name.copy(name.internal, sizeof(name.internal) - 1);
    if (rank == 0) exchange.Put(1, name);
    EXPECT_EQ(std::string(exchange.Get(1).internal), all[1].name);
    EXPECT_EQ(ncclCommAbort(part), ncclSuccess);
    self.Abort();
  });
}

TEST(Profiler, CountsNothingWithoutALauncher) {
  ExpectRanks([](int rank, IdExchange& exchange) {
    Program self(rank, exchange);
    self.AllReduce();
    self.Wait();
    exchange.AwaitAll(2);
    self.Abort();
  });
}

}  // namespace
}  // namespace muster::testing
