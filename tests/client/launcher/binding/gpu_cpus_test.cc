// Tests of which CPUs NVML says are near a GPU, with the stand-in of tests/nccl/cuda.
#include "client/launcher/binding/gpu_cpus.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GpuCpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("FAKE_CUDA_DEVICES", "3", 1);
    setenv("FAKE_NVML_CPUS", "0-1;64-65;130-131", 1);
  }
};

const Cpus kFirst = {0, 1};
const Cpus kSecond = {64, 65};
const Cpus kThird = {130, 131};

TEST_F(GpuCpusTest, TakesAllGpusInOrder) {
  EXPECT_THAT(CpusNearGpus(std::nullopt), ElementsAre(kFirst, kSecond, kThird));
}

TEST_F(GpuCpusTest, TakesTheVisibleOnesInTheirOrder) {
  EXPECT_THAT(CpusNearGpus("2,0"), ElementsAre(kThird, kFirst));
  EXPECT_THAT(CpusNearGpus("GPU-1, 0"), ElementsAre(kSecond, kFirst));
}

TEST_F(GpuCpusTest, EndsAtTheFirstUnknownOne) {
  EXPECT_THAT(CpusNearGpus("1,7,0"), ElementsAre(kSecond));
  EXPECT_THAT(CpusNearGpus("-1"), IsEmpty());
  EXPECT_THAT(CpusNearGpus(""), IsEmpty());
}

TEST_F(GpuCpusTest, HasAnEmptySetWhereNvmlDoesNotKnow) {
  unsetenv("FAKE_NVML_CPUS");
  EXPECT_THAT(CpusNearGpus("0"), ElementsAre(IsEmpty()));
}

TEST_F(GpuCpusTest, IsEmptyWithoutGpus) {
  setenv("FAKE_CUDA_DEVICES", "0", 1);
  EXPECT_THAT(CpusNearGpus(std::nullopt), IsEmpty());
}

}  // namespace
}  // namespace muster::launcher
