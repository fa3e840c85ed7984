// Tests of the fake CUDA runtime, as a program sees it. Each test runs in its own process.

#include "tests/nccl/cuda/fake_cuda.h"

#include <cuda_runtime_api.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/cuda/test_process.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

int DeviceCount() {
  int count = -1;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  return count;
}

std::string UuidOf(int device) {
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, device), cudaSuccess);
  return std::string(properties.uuid.bytes, sizeof properties.uuid.bytes);
}

TEST(FakeCudaTest, TheEnvironmentSetsTheDevices) {
  ExpectInProcess({{"FAKE_CUDA_DEVICES", "3"}}, [] {
    EXPECT_EQ(DeviceCount(), 3);
    EXPECT_NE(UuidOf(0), UuidOf(1));
    EXPECT_EQ(cudaSetDevice(3), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  });
}

TEST(FakeCudaTest, VisibleDevicesAreRenumbered) {
  ExpectInProcess({{"FAKE_CUDA_DEVICES", "4"}, {"CUDA_VISIBLE_DEVICES", "2,0"}}, [] {
    EXPECT_EQ(DeviceCount(), 2);
    char id[32];
    ASSERT_EQ(cudaDeviceGetPCIBusId(id, sizeof id, 0), cudaSuccess);
    EXPECT_STREQ(id, "0000:03:00.0");
  });
}

TEST(FakeCudaTest, ThereMayBeNoDevice) {
  ExpectInProcess({{"CUDA_VISIBLE_DEVICES", ""}}, [] {
    int count = -1;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    EXPECT_EQ(count, 0);
  });
  ExpectInProcess({{"FAKE_CUDA_DRIVER", "old"}}, [] {
    int count = -1;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_STREQ(cudaGetErrorString(cudaErrorInsufficientDriver),
                 "CUDA driver version is insufficient for CUDA runtime version");
  });
}

TEST(FakeCudaTest, CopiesReachDeviceMemoryAndTheHostDoesNot) {
  ExpectInProcess({}, [] {
    int* device = nullptr;
    const int sent[] = {1, 2, 3};
    int received[3] = {};
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), sizeof sent), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(device, sent, sizeof sent, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(received, device + 1, 2 * sizeof(int), cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(received[1], 3);
    EXPECT_EQ(cudaMemcpy(received, sent, sizeof sent, cudaMemcpyDeviceToHost),
              cudaErrorInvalidValue);
    EXPECT_EQ(fake_cuda::CurrentCounters().device_allocations, 1);
    EXPECT_EQ(cudaFree(device), cudaSuccess);
    EXPECT_EQ(fake_cuda::CurrentCounters().device_bytes, 0);
  });
  const RankExit end = RunInProcess([] {
    int* device = nullptr;
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), sizeof(int)), cudaSuccess);
    *device = 1;
  });
  EXPECT_NE(end.status, 0) << "the host wrote to device memory";
}

TEST(FakeCudaTest, MemoryIsLimited) {
  ExpectInProcess({{"FAKE_CUDA_MEMORY", "1000"}}, [] {
    void* first = nullptr;
    void* second = nullptr;
    EXPECT_EQ(cudaMalloc(&first, 600), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&second, 600), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaFree(first), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&second, 600), cudaSuccess);
  });
}

TEST(FakeCudaTest, PointersHaveAttributes) {
  ExpectInProcess({}, [] {
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    char* device = nullptr;
    char* pinned = nullptr;
    char pageable = 0;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), 10), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&pinned), 10, 0), cudaSuccess);
    cudaPointerAttributes attributes;
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, device + 9), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, 1);
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, &pageable), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  });
}

TEST(FakeCudaTest, StreamsWorkInOrderAndBesideEachOther) {
  ExpectInProcess({}, [] {
    cudaStream_t blocked = nullptr;
    cudaStream_t free = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&blocked, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking), cudaSuccess);
    StreamGate gate;
    fake_cuda::Launch({blocked}, gate.work());
    EXPECT_EQ(cudaStreamQuery(blocked), cudaErrorNotReady);
    EXPECT_EQ(cudaStreamSynchronize(free), cudaSuccess);
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, blocked), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(free, event, 0), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_EQ(cudaStreamQuery(free), cudaErrorNotReady);
    gate.open = true;
    EXPECT_EQ(cudaStreamSynchronize(free), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(blocked), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(free), cudaSuccess);
    EXPECT_EQ(fake_cuda::CurrentCounters().streams + fake_cuda::CurrentCounters().events, 0);
  });
}

TEST(FakeCudaTest, TheDefaultStreamWaitsForOrdinaryStreamsOnly) {
  ExpectInProcess({}, [] {
    cudaStream_t ordinary = nullptr;
    cudaStream_t apart = nullptr;
    ASSERT_EQ(cudaStreamCreate(&ordinary), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking), cudaSuccess);
    StreamGate gate;
    StreamGate far;
    fake_cuda::Launch({ordinary}, gate.work());
    fake_cuda::Launch({apart}, far.work());
    fake_cuda::Launch({nullptr}, [] {});
    EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
    gate.open = true;
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(apart), cudaErrorNotReady);
    far.open = true;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  });
}

// Two streams, with memory that both of them use.
class Order {
 public:
  Order() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&first_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&memory_, kBytes), cudaSuccess);
  }

  cudaStream_t first() const { return first_; }
  cudaStream_t second() const { return second_; }

  void Use(cudaStream_t stream, bool writes, size_t begin = 0, size_t bytes = kBytes) {
    fake_cuda::Launch({stream}, [] {}, {{static_cast<char*>(memory_) + begin, bytes, writes}});
  }
  void Write(cudaStream_t stream) { Use(stream, true); }
  void Read(cudaStream_t stream) { Use(stream, false); }

  void FollowByEvent(cudaStream_t before, cudaStream_t after) {
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, before), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(after, event, 0), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  }

  static constexpr size_t kBytes = 100;

 private:
  cudaStream_t first_ = nullptr;
  cudaStream_t second_ = nullptr;
  void* memory_ = nullptr;
};

void ExpectUnordered(const std::function<void(Order&)>& body, const std::string& what) {
  const RankExit end = RunInProcess([&] {
    Order order;
    body(order);
  });
  EXPECT_THAT(end.output, HasSubstr("VIOLATION: a kernel " + what)) << end.status;
}

TEST(FakeCudaTest, WorkOnTheSameMemoryThatNothingOrdersEndsTheProcess) {
  ExpectUnordered(
      [](Order& order) {
        order.Write(order.first());
        order.Read(order.second());
      },
      "reads memory that a kernel on another stream writes");
  ExpectUnordered(
      [](Order& order) {
        order.Read(order.first());
        order.Write(order.second());
      },
      "writes memory that a kernel on another stream reads");
  // The default stream does not wait for non-blocking streams.
  ExpectUnordered(
      [](Order& order) {
        order.Write(nullptr);
        order.Write(order.second());
      },
      "writes memory that a kernel on another stream writes");
  // Work that waits for an event is not ordered after work that follows the event.
  ExpectUnordered(
      [](Order& order) {
        order.Write(order.first());
        order.FollowByEvent(order.first(), order.second());
        order.Write(order.first());
        order.Read(order.second());
      },
      "reads memory that a kernel on another stream writes");
}

TEST(FakeCudaTest, EventsAndTheHostOrderWork) {
  ExpectInProcess({}, [] {
    Order order;
    cudaStream_t ordinary = nullptr;
    ASSERT_EQ(cudaStreamCreate(&ordinary), cudaSuccess);
    order.Write(order.first());
    order.FollowByEvent(order.first(), order.second());
    order.Write(order.second());
    EXPECT_EQ(cudaStreamSynchronize(order.second()), cudaSuccess);
    order.Read(order.first());
    order.Read(order.second());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    order.Write(ordinary);
    order.Write(nullptr);
    order.Write(ordinary);
    // The second stream follows the first one through the default stream.
    order.FollowByEvent(nullptr, order.second());
    while (cudaStreamQuery(ordinary) != cudaSuccess) std::this_thread::yield();
    order.Write(order.first());
    EXPECT_EQ(cudaStreamSynchronize(order.first()), cudaSuccess);
    order.Use(order.first(), /*writes=*/true, 0, 50);
    order.Use(order.second(), /*writes=*/true, 50, 50);
  });
}

TEST(FakeCudaTest, ADestroyedStreamMustNotBeUsed) {
  const RankExit end = RunInProcess([] {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    cudaStreamQuery(stream);
  });
  EXPECT_TRUE(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT) << end.status;
  EXPECT_THAT(end.output, HasSubstr("VIOLATION: a call names stream"));
}

}  // namespace
}  // namespace muster::testing
