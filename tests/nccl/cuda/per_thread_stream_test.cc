// Tests of cudaStreamPerThread, a default stream for each thread of the program.

#include <cuda_runtime_api.h>

#include <thread>

#include "gtest/gtest.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/test_process.h"

namespace muster::testing {
namespace {

TEST(FakeCudaPerThreadStream, EachThreadHasItsOwn) {
  ExpectInProcess({}, [] {
    StreamGate gate;
    std::thread other([&] {
      fake_cuda::Launch({cudaStreamPerThread}, gate.work());
      EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaErrorNotReady);
      while (!gate.open) std::this_thread::yield();
      EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    });
    EXPECT_EQ(cudaStreamQuery(cudaStreamPerThread), cudaSuccess) << "another thread's work";
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    gate.open = true;
    other.join();
    EXPECT_EQ(fake_cuda::CurrentCounters().streams, 0);
  });
}

TEST(FakeCudaPerThreadStream, TheLegacyStreamWaitsForIt) {
  ExpectInProcess({}, [] {
    StreamGate gate;
    fake_cuda::Launch({cudaStreamPerThread}, gate.work());
    fake_cuda::Launch({cudaStreamLegacy}, [] {});
    EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
    EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
    gate.open = true;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  });
}

TEST(FakeCudaPerThreadStream, ItIsOfTheCurrentDevice) {
  ExpectInProcess({}, [] {
    int device = -1;
    unsigned long long first = 0;
    unsigned long long second = 0;
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(cudaStreamGetDevice(cudaStreamPerThread, &device), cudaSuccess);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(cudaStreamGetId(cudaStreamPerThread, &first), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
    EXPECT_EQ(cudaStreamGetId(cudaStreamPerThread, &second), cudaSuccess);
    EXPECT_NE(first, second);
  });
}

TEST(FakeCudaPerThreadStream, DefaultStreamsCannotBeDestroyed) {
  ExpectInProcess({}, [] {
    EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamDestroy(cudaStreamPerThread), cudaErrorInvalidResourceHandle);
  });
}

TEST(FakeCudaEvent, IsOfTheDeviceOnWhichItWasMade) {
  ExpectInProcess({}, [] {
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, nullptr), cudaErrorInvalidResourceHandle);
  });
}

}  // namespace
}  // namespace muster::testing
