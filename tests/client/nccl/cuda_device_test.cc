// Tests which GPU a process takes, and its error if there is none.

#include "client/nccl/device/cuda_device.h"

#include <cstdlib>
#include <thread>

#include "client/nccl/device/cuda_driver.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/cuda/fake_cuda.h"

namespace muster::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ChooseDeviceTest, TheLocalRankChooses) {
  EXPECT_EQ(*ChooseDevice(8, std::nullopt, 0), 0);
  EXPECT_EQ(*ChooseDevice(8, std::nullopt, 7), 7);
}

TEST(ChooseDeviceTest, TheOnlyVisibleGpuIsChosen) {
  EXPECT_EQ(*ChooseDevice(1, std::nullopt, 5), 0);
}

TEST(ChooseDeviceTest, TheProgramChoosesFirst) {
  EXPECT_EQ(*ChooseDevice(8, 2, 5), 2);
  EXPECT_EQ(*ChooseDevice(1, 0, 5), 0);
}

TEST(ChooseDeviceTest, AMissingDeviceIsRejected) {
  for (int device : {-1, 2}) {
    EXPECT_EQ(ChooseDevice(2, device, 0).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ChooseDeviceTest, MoreProcessesThanGpusAreRejected) {
  setenv("CUDA_VISIBLE_DEVICES", "4,5", 1);
  const absl::Status status = ChooseDevice(2, std::nullopt, 2).status();
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("local rank 2 has no GPU of its own: this process sees 2 GPUs"),
                    HasSubstr("CUDA_VISIBLE_DEVICES is '4,5'")));
}

TEST(ScopedDeviceTest, LeavesAThreadWithoutAContextUnchanged) {
  ASSERT_TRUE(OpenDevice(3, 0).ok());
  std::thread([] {
    {
      const ScopedDevice current(3);
      void* memory = nullptr;
      EXPECT_EQ(cudaMalloc(&memory, 1), cudaSuccess);
      EXPECT_EQ(cudaFree(memory), cudaSuccess);
    }
    EXPECT_EQ(CudaDriver::Get().CurrentContext(), nullptr);
  }).join();
  EXPECT_THAT(fake_cuda::OpenedDevices(), ElementsAre(3));
  EXPECT_THAT(OpenedDevices(), ElementsAre(3));
}

TEST(ScopedDeviceTest, GivesBackTheProgramsDevice) {
  ASSERT_TRUE(OpenDevice(3, 0).ok());
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  int device = -1;
  {
    const ScopedDevice current(3);
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 3);
  }
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 1);
}

TEST(UuidTest, HasTheFormatOfNvidiaSmi) {
  cudaUUID_t uuid;
  for (int i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<char>(0xf0 + i);
  EXPECT_EQ(UuidText(uuid), "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
}

}  // namespace
}  // namespace muster::internal
