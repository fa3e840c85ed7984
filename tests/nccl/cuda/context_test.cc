// Tests which calls open a context, and on which device.

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/test_process.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FakeCudaContext, QueriesOpenNone) {
  ExpectInProcess({}, [] {
    int value = -1;
    cudaDeviceProp properties;
    cudaPointerAttributes attributes;
    EXPECT_EQ(cudaGetDeviceCount(&value), cudaSuccess);
    EXPECT_EQ(cudaGetDevice(&value), cudaSuccess);
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 3), cudaSuccess);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 3), cudaSuccess);
    EXPECT_EQ(cudaDeviceCanAccessPeer(&value, 0, 1), cudaSuccess);
    EXPECT_EQ(cudaDriverGetVersion(&value), cudaSuccess);
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, &value), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_THAT(fake_cuda::OpenedDevices(), IsEmpty());
  });
}

// Returns the devices that a thread opens by `call`, if it has never set a device.
std::vector<int> OpenedBy(const std::function<void()>& call) {
  std::thread(call).join();
  return fake_cuda::OpenedDevices();
}

TEST(FakeCudaContext, AThreadThatHasSetNoDeviceOpensTheFirst) {
  const std::vector<std::function<void()>> calls = {
      [] { cudaFree(nullptr); },
      [] {
        cudaStream_t stream = nullptr;
        cudaStreamCreate(&stream);
      },
      [] {
        cudaEvent_t event = nullptr;
        cudaEventCreate(&event);
      },
      [] { cudaDeviceSynchronize(); },
      [] { cudaStreamSynchronize(cudaStreamPerThread); },
  };
  for (const auto& call : calls) {
    ExpectInProcess({}, [&] {
      ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
      EXPECT_THAT(fake_cuda::OpenedDevices(), ElementsAre(2));
      EXPECT_THAT(OpenedBy(call), ElementsAre(0, 2));
    });
  }
}

TEST(FakeCudaContext, SettingADeviceOpensIt) {
  ExpectInProcess({}, [] {
    EXPECT_THAT(OpenedBy([] { cudaSetDevice(5); }), ElementsAre(5));
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0) << "another thread's device";
    EXPECT_THAT(fake_cuda::OpenedDevices(), ElementsAre(5));
  });
}

TEST(FakeCudaContext, AForeignDeviceEndsTheProcess) {
  const Environment only = {{"FAKE_CUDA_ONLY_DEVICE", "1"}};
  ExpectInProcess(only, [] {
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  });
  const RankExit end = RunInProcess([] { cudaFree(nullptr); }, only);
  EXPECT_THAT(end.output, HasSubstr("VIOLATION: the process opens device 0"));
}

TEST(FakeCudaContext, TheDriverSeesTheSameContexts) {
  ExpectInProcess({}, [] {
    auto* const current = Driver<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent");
    auto* const set = Driver<decltype(cuCtxSetCurrent)>("cuCtxSetCurrent");
    auto* const state = Driver<decltype(cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState");
    CUcontext context = nullptr;
    EXPECT_EQ(current(&context), CUDA_SUCCESS);
    EXPECT_EQ(context, nullptr);
    ASSERT_EQ(cudaSetDevice(3), cudaSuccess);
    EXPECT_EQ(current(&context), CUDA_SUCCESS);
    std::thread([&] {
      EXPECT_EQ(set(context), CUDA_SUCCESS);
      int device = -1;
      EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
      EXPECT_EQ(device, 3);
    }).join();
    unsigned flags = 0;
    int active = -1;
    EXPECT_EQ(state(3, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 1);
    EXPECT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
  });
}

TEST(FakeCudaContext, UnsupportedFeaturesAreRejectedByName) {
  ExpectInProcess({}, [] {
    void* function = &function;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
    EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuMulticastCreate", &function, 12010,
                                               cudaEnableDefault, &result),
              cudaSuccess);
    EXPECT_EQ(function, nullptr);
    EXPECT_EQ(result, cudaDriverEntryPointSymbolNotFound);
  });
  const RankExit end = RunInProcess([] {
    int value = 0;
    cudaDeviceGetAttribute(&value, cudaDevAttrTextureAlignment, 0);
  });
  EXPECT_THAT(end.output, HasSubstr("VIOLATION: cudaDeviceGetAttribute asks for attribute 14"));
}

}  // namespace
}  // namespace muster::testing
