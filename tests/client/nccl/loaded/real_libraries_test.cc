// Tests client/nccl/loaded on the CUDA runtime and the NCCL that are installed here, without a GPU.

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "client/nccl/device/cuda_device.h"
#include "client/nccl/device/features.h"
#include "client/nccl/loaded/machine_libraries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;

TEST(RealLibrariesTest, HaveAllFunctions) {
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);  // CUDA reads it at its first call
  EXPECT_EQ(LoadedNcclVersion(), 0);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorInitializationError);
  EXPECT_EQ(LoadMachineLibraries(), absl::OkStatus());
  EXPECT_GE(LoadedNcclVersion(), kOldestNcclVersion) << NcclLibrary().path();
  int version = 0;
  EXPECT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_GE(version, 12000) << CudaRuntime().path();
  EXPECT_THAT(std::string(CountDevices().status().message()), HasSubstr("no usable GPU"));
}

}  // namespace
}  // namespace muster::internal
