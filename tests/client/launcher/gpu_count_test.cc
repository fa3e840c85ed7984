// Tests of how the launcher counts GPUs.
#include "client/launcher/process/gpu_count.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/util/process/process.h"

namespace muster::launcher {
namespace {

class GpuCountTest : public ::testing::Test {
 protected:
  // Makes a folder of device files like a machine's with four GPUs.
  void SetUp() override {
    for (const char* name :
         {"nvidia0", "nvidia1", "nvidia2", "nvidia10", "nvidiactl", "nvidia-uvm", "null"}) {
      std::ofstream(folder_ + "/" + name);
    }
  }
  const std::string folder_ = muster::testing::MakeTempDir();
};

TEST_F(GpuCountTest, CountsDevices) {
  EXPECT_EQ(CountGpus(std::nullopt, folder_), 4);
  EXPECT_EQ(CountGpus(std::nullopt, muster::testing::MakeTempDir()), 0);
  EXPECT_EQ(CountGpus(std::nullopt, folder_ + "/none"), 0);
}

TEST_F(GpuCountTest, VisibleDevicesLimitThem) {
  EXPECT_EQ(CountGpus("0,2", folder_), 2);
  EXPECT_EQ(CountGpus("GPU-5f3a, GPU-9b1c, MIG-1", folder_), 3);
  EXPECT_EQ(CountGpus("", folder_), 0);
  EXPECT_EQ(CountGpus("-1", folder_), 0);
  EXPECT_EQ(CountGpus("1,-1,2", folder_), 1);
}

}  // namespace
}  // namespace muster::launcher
