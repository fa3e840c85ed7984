// Tests of what //tests/nccl/conformance does not compare with the real NCCL: values, counters, and
// violations.

#include "tests/nccl/fake/fake_nccl.h"

#include <nccl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/forked_nccl_ranks.h"

namespace muster::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kCount = 1000;

ncclConfig_t NonBlocking() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

ncclResult_t State(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  return state;
}

ncclResult_t Settled(ncclComm_t comm) {
  while (State(comm) == ncclInProgress) usleep(100);
  return State(comm);
}

// One rank of a test, with a device, a stream and a communicator.
class Rank {
 public:
  Rank(int rank, int size, IdExchange& exchange) : rank_(rank), size_(size) {
    EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    if (rank == 0) {
      ncclUniqueId id;
      EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
      exchange.Put(0, id);
    }
    ncclConfig_t config = NonBlocking();
    EXPECT_EQ(ncclCommInitRankConfig(&comm_, size, exchange.Get(0), rank, &config), ncclInProgress);
  }

  ncclComm_t comm() const { return comm_; }
  cudaStream_t stream() const { return stream_; }

  ncclResult_t Start(float* data) {
    return ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, comm_, stream_);
  }

  float* NewData(float value) {
    float* data = nullptr;
    const std::vector<float> host(kCount, value);
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), kCount * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice),
              cudaSuccess);
    return data;
  }

  std::vector<float> Fetch(const float* data) {
    std::vector<float> host(kCount);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(host.data(), data, kCount * sizeof(float), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return host;
  }

  void ExpectAllReduceWorks() {
    float* const data = NewData(static_cast<float>(rank_ + 1));
    Start(data);
    EXPECT_EQ(Settled(comm_), ncclSuccess);
    const int sum = size_ * (size_ + 1) / 2;
    EXPECT_THAT(Fetch(data), Each(static_cast<float>(sum)));
    EXPECT_EQ(cudaFree(data), cudaSuccess);
  }

  void End() {
    ncclCommFinalize(comm_);
    EXPECT_EQ(Settled(comm_), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm_), ncclSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }

 private:
  const int rank_;
  const int size_;
  cudaStream_t stream_ = nullptr;
  ncclComm_t comm_ = nullptr;
};

void AwaitNothingLive() {
  while (fake_nccl::CurrentCounters().threads > 0 || fake_nccl::CurrentCounters().sockets > 0)
    usleep(1000);
}

class FakeNcclSizes : public ::testing::TestWithParam<int> {};

TEST_P(FakeNcclSizes, InitReduceAndEndLeaveNothingBehind) {
  ExpectForked(GetParam(), [](int rank, IdExchange& exchange) {
    Rank self(rank, GetParam(), exchange);
    ASSERT_EQ(Settled(self.comm()), ncclSuccess);
    self.ExpectAllReduceWorks();
    self.ExpectAllReduceWorks();
    self.End();
    AwaitNothingLive();
    EXPECT_EQ(fake_nccl::CurrentCounters().communicators, 0);
    EXPECT_EQ(fake_cuda::CurrentCounters().device_allocations, 0);
    EXPECT_EQ(fake_cuda::CurrentCounters().streams, 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, FakeNcclSizes, ::testing::Values(1, 2, 4));

// ---- Violations, which end the process ----

// Runs a rank's program in a communicator of one rank.
RankExit Alone(const std::function<void(Rank& self)>& body) {
  return RunForked(1, [&](int rank, IdExchange& exchange) {
    Rank self(rank, 1, exchange);
    EXPECT_EQ(Settled(self.comm()), ncclSuccess);
    body(self);
  })[0];
}

TEST(FakeNcclViolations, UseAfterFree) {
  EXPECT_THAT(Alone([](Rank& self) {
                ncclCommAbort(self.comm());
                State(self.comm());
              }).output,
              HasSubstr("VIOLATION: ncclCommGetAsyncError on a communicator that has been freed"));
}

TEST(FakeNcclViolations, RevokeWhileACallIsInProgress) {
  const auto ends = RunForked(2, [](int rank, IdExchange& exchange) {
    Rank self(rank, 2, exchange);
    ASSERT_EQ(Settled(self.comm()), ncclSuccess);
    if (rank == 1) return;
    EXPECT_EQ(self.Start(self.NewData(1)), ncclInProgress) << "it connects to rank 1";
    ncclCommRevoke(self.comm(), NCCL_REVOKE_DEFAULT);
  });
  EXPECT_THAT(ends[0].output, HasSubstr("VIOLATION: ncclCommRevoke before"));
}

TEST(FakeNcclViolations, AnOperationOnMemoryThatAnotherStreamWrites) {
  EXPECT_THAT(Alone([](Rank& self) {
                float* const data = self.NewData(1);
                cudaMemsetAsync(data, 0, sizeof(float), nullptr);
                self.Start(data);
                Settled(self.comm());
              }).output,
              HasSubstr("VIOLATION: ncclAllReduce reads memory that a memset on another stream"));
}

TEST(FakeNcclViolations, HostMemory) {
  EXPECT_THAT(Alone([](Rank& self) {
                std::vector<float> host(kCount);
                self.Start(host.data());
              }).output,
              HasSubstr("which the device cannot reach"));
}

TEST(FakeNcclViolations, TwoThreads) {
  EXPECT_THAT(Alone([](Rank& self) {
                fake_nccl::SetFaults("abort-slow=5000");
                std::thread other([&] { ncclCommAbort(self.comm()); });
                while (true) State(self.comm());
              }).output,
              HasSubstr("while another thread is in"));
}

TEST(FakeNcclViolations, FreeingOneCommunicatorWhileAnotherHangs) {
  const auto ends = RunForked(2, [](int rank, IdExchange& exchange) {
    setenv("NCCL_HOSTID", rank == 0 ? "a" : "b", 1);
    Rank self(rank, 2, exchange);
    ASSERT_EQ(Settled(self.comm()), ncclSuccess);
    self.ExpectAllReduceWorks();
    ncclComm_t second = nullptr;
    ncclCommSplit(self.comm(), 0, rank, &second, nullptr);
    ASSERT_EQ(Settled(self.comm()), ncclSuccess);
    if (rank == 0) {
      self.Start(self.NewData(1));
      ASSERT_EQ(Settled(self.comm()), ncclSuccess);
    }
    exchange.AwaitAll(2);
    if (rank == 1) raise(SIGKILL);
    while (State(self.comm()) != ncclRemoteError) usleep(100);
    ncclCommAbort(second);
  });
  EXPECT_THAT(ends[0].output, HasSubstr("is not stopped: NCCL would hang"));
}

}  // namespace
}  // namespace muster::testing
