// Tests of calls that wait for the device although their names do not say so, and of stream-ordered
// allocation, which does not.

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "gtest/gtest.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/test_process.h"

namespace muster::testing {
namespace {

void Kernel() {}

// Returns whether the call waits for a kernel that hangs on another stream.
bool Waits(const std::function<void()>& call) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  StreamGate gate;
  fake_cuda::Launch({stream}, gate.work());
  std::atomic<bool> returned{false};
  std::thread caller([&] {
    call();
    returned = true;
  });
  for (int i = 0; i < 100 && !returned; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const bool waits = !returned;
  gate.open = true;
  caller.join();
  return waits;
}

void Malloc() {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 1), cudaSuccess);
}

void HostAlloc() {
  void* memory = nullptr;
  EXPECT_EQ(cudaHostAlloc(&memory, 1, cudaHostAllocDefault), cudaSuccess);
}

void LoadKernel() {
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(Kernel)), cudaSuccess);
}

TEST(FakeCudaImplicitSync, FreeingWaits) {
  ExpectInProcess({}, [] {
    void* device = nullptr;
    void* host = nullptr;
    static char registered[100];
    ASSERT_EQ(cudaMalloc(&device, 1), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(&host, 1, cudaHostAllocDefault), cudaSuccess);
    ASSERT_EQ(cudaHostRegister(registered, sizeof registered, 0), cudaSuccess);
    EXPECT_TRUE(Waits([&] { cudaFree(device); }));
    EXPECT_TRUE(Waits([&] { cudaFreeHost(host); }));
    EXPECT_TRUE(Waits([&] { cudaHostUnregister(registered); }));
  });
}

TEST(FakeCudaImplicitSync, AllocatingAndLoadingMayWait) {
  ExpectInProcess({}, [] {
    EXPECT_FALSE(Waits(Malloc));
    EXPECT_FALSE(Waits(HostAlloc));
    EXPECT_FALSE(Waits(LoadKernel));
  });
  ExpectInProcess({{"FAKE_CUDA_IMPLICIT_SYNC", "all"}}, [] {
    EXPECT_TRUE(Waits(Malloc));
    EXPECT_TRUE(Waits(HostAlloc));
    EXPECT_TRUE(Waits(LoadKernel));
    EXPECT_FALSE(Waits(LoadKernel)) << "it is loaded";
  });
}

TEST(FakeCudaPool, AllocatesAndFreesInOrderOfAStream) {
  ExpectInProcess({{"FAKE_CUDA_IMPLICIT_SYNC", "all"}}, [] {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    void* memory = nullptr;
    EXPECT_FALSE(Waits([&] { cudaMallocFromPoolAsync(&memory, 100, pool, stream); }));
    EXPECT_FALSE(Waits([&] { cudaFreeAsync(memory, stream); }));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(fake_cuda::CurrentCounters().device_allocations, 0);
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  });
}

TEST(FakeCudaRegistered, HostMemoryKeepsItsAddress) {
  ExpectInProcess({}, [] {
    static char memory[100];
    void* device = nullptr;
    EXPECT_EQ(cudaHostGetDevicePointer(&device, memory, 0), cudaErrorInvalidValue);
    EXPECT_EQ(fake_cuda::Reach(memory, 100), nullptr);
    ASSERT_EQ(cudaHostRegister(memory, sizeof memory, cudaHostRegisterMapped), cudaSuccess);
    EXPECT_EQ(cudaHostRegister(memory + 50, 10, 0), cudaErrorHostMemoryAlreadyRegistered);
    EXPECT_EQ(cudaHostGetDevicePointer(&device, memory + 3, 0), cudaSuccess);
    EXPECT_EQ(device, memory + 3);
    EXPECT_EQ(fake_cuda::Reach(device, 97), memory + 3);
    EXPECT_EQ(cudaHostUnregister(memory), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(memory), cudaErrorHostMemoryNotRegistered);
  });
}

}  // namespace
}  // namespace muster::testing
