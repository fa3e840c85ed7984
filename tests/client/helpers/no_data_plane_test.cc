// Tests of a program that links no data plane.

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/toolkits.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using toolkits::AllReduce;
using toolkits::AvailableBackends;
using toolkits::BackendOf;
using toolkits::DeviceOf;

TEST(NoDataPlaneTest, TheDeviceIsTheCpuAndNumbersAreReduced) {
  EXPECT_THAT(AvailableBackends(), ::testing::IsEmpty());
  for (const int size : {1, 2, 4}) {
    Jobs jobs(size);
    jobs.Run([&](int rank, Job& job) {
      EXPECT_EQ(DeviceOf(job).value_or("?"), "cpu");
      EXPECT_TRUE(absl::IsNotFound(BackendOf(job).status()));
      EXPECT_EQ(AllReduce(job, rank + 1).value_or(-1), size * (size + 1) / 2);
      std::vector<float> data = {1};
      EXPECT_EQ(AllReduce(job, absl::MakeSpan(data)).ok(), size == 1);
    });
  }
}

}  // namespace
}  // namespace muster::testing
