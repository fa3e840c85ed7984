// Tests of kernels that are functions of the CPU.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/cuda/cpu_kernel.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/test_process.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

struct AddArguments {
  int* values;
  int count;
  int summand;
};

void AddKernel(const CpuLaunch* launch) {
  const auto* arguments = static_cast<const AddArguments*>(launch->arguments);
  EXPECT_EQ(launch->argument_bytes, sizeof *arguments);
  EXPECT_EQ(launch->grid[0], 2u);
  EXPECT_EQ(launch->block[0], 32u);
  const size_t bytes = arguments->count * sizeof(int);
  auto* const values = static_cast<int*>(launch->reach(arguments->values, bytes));
  ASSERT_NE(values, nullptr);
  for (int i = 0; i < arguments->count; ++i) values[i] += arguments->summand;
}

// Hangs until the host releases it, through pinned memory.
void WaitKernel(const CpuLaunch* launch) {
  const auto* flag = *static_cast<volatile int* const*>(launch->arguments);
  while (*flag == 0) std::this_thread::yield();
}

CUfunction FunctionOf(CpuKernel kernel) {
  cudaFunction_t function = nullptr;
  EXPECT_EQ(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(kernel)), cudaSuccess);
  return function;
}

template <class Arguments>
CUresult Launch(CpuKernel kernel, Arguments arguments, cudaStream_t stream,
                CUlaunchAttribute* attribute = nullptr) {
  size_t size = sizeof arguments;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  CUlaunchConfig config = {};
  config.gridDimX = 2;
  config.blockDimX = 32;
  config.hStream = stream;
  config.attrs = attribute;
  config.numAttrs = attribute == nullptr ? 0 : 1;
  auto* const launch = Driver<decltype(cuLaunchKernelEx)>("cuLaunchKernelEx");
  return launch(&config, FunctionOf(kernel), nullptr, extra);
}

cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  return stream;
}

int* Pinned() {
  int* value = nullptr;
  EXPECT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&value), sizeof(int), cudaHostAllocMapped),
            cudaSuccess);
  *value = 0;
  return value;
}

TEST(FakeCudaKernel, ReadsACopyOfItsArgumentsAndReachesDeviceMemory) {
  ExpectInProcess({}, [] {
    const int sent[] = {1, 2, 3};
    int received[3] = {};
    int* device = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&device), sizeof sent), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(device, sent, sizeof sent, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(Launch(AddKernel, AddArguments{device, 3, 10}, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cudaMemcpy(received, device, sizeof sent, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(received[2], 13);
  });
}

TEST(FakeCudaKernel, TheStreamsLaterWorkWaitsForIt) {
  ExpectInProcess({}, [] {
    const cudaStream_t stream = NewStream();
    int* const flag = Pinned();
    cudaEvent_t begun = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming), cudaSuccess);
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    attribute.value.launchCompletionEvent.event = begun;
    EXPECT_EQ(Launch(WaitKernel, flag, stream, &attribute), CUDA_SUCCESS);
    EXPECT_EQ(cudaEventSynchronize(begun), cudaSuccess) << "it begins, and does not end";
    std::atomic<bool> called{false};
    EXPECT_EQ(
        cudaLaunchHostFunc(
            stream, [](void* data) { *static_cast<std::atomic<bool>*>(data) = true; }, &called),
        cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    EXPECT_FALSE(called);
    *flag = 1;
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_TRUE(called);
  });
}

TEST(FakeCudaKernel, NeedsAStreamOfTheCurrentDevice) {
  ExpectInProcess({}, [] {
    const cudaStream_t stream = NewStream();
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(Launch(AddKernel, AddArguments{}, stream), CUDA_ERROR_INVALID_HANDLE);
  });
}

TEST(FakeCudaKernel, AnUnknownAttributeEndsTheProcess) {
  const RankExit end = RunInProcess([] {
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    Launch(AddKernel, AddArguments{}, nullptr, &attribute);
  });
  EXPECT_THAT(end.output, HasSubstr("VIOLATION: a kernel is launched with attribute 2"));
}

// ---- A device that fails ----

TEST(FakeCudaFailure, AFailedKernelSpoilsAllLaterCalls) {
  ExpectInProcess({{"FAKE_CUDA_ERRORS", "kernel=700@2"}}, [] {
    const cudaStream_t stream = NewStream();
    int* const flag = Pinned();
    *flag = 1;
    EXPECT_EQ(Launch(WaitKernel, flag, stream), CUDA_SUCCESS);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(Launch(WaitKernel, flag, stream), CUDA_SUCCESS);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress) << "it stays";
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 1), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaFreeHost(flag), cudaErrorIllegalAddress);
  });
}

TEST(FakeCudaFailure, EndsWaitsForAKernelThatHangs) {
  ExpectInProcess({}, [] {
    const cudaStream_t stream = NewStream();
    int* const flag = Pinned();
    EXPECT_EQ(Launch(WaitKernel, flag, stream), CUDA_SUCCESS);
    std::thread fault([] { fake_cuda::FailDevice(cudaErrorNvlinkUncorrectable); });
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorNvlinkUncorrectable);
    fault.join();
    *flag = 1;
  });
}

}  // namespace
}  // namespace muster::testing
