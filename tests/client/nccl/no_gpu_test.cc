// Tests on the real CUDA and NCCL, in a process that sees no GPU.

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "muster/exit_code.h"
#include "muster/log.h"
#include "muster/nccl.h"
#include "muster/toolkits.h"
#include "tests/util/fakes/fake_job.h"

namespace muster {
namespace {

using toolkits::GpuMemUsage;
using toolkits::InferDevice;

using ::muster::testing::FakeJob;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class NoGpuTest : public ::testing::Test {
 protected:
  // Hides the machine's GPUs. CUDA reads the variable at its first call.
  static void SetUpTestSuite() { setenv("CUDA_VISIBLE_DEVICES", "-1", 1); }

  FakeJob job_{2};
};

TEST_F(NoGpuTest, RequestingNcclIsAClearErrorOnEveryRank) {
  job_.Run([](int rank, const Group& world) {
    CommunicatorOptions options;
    options.backend = "nccl";
    const absl::Status status = Communicator::Create(world, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ExitCode(status), kExitUnhealthyNode);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("CommunicatorOptions::backend asks for the backend 'nccl'"),
                      HasSubstr("no usable GPU")));
  });
}

TEST_F(NoGpuTest, NcclHeaderReturnsTheSameError) {
  job_.Run([](int rank, const Group& world) {
    const absl::Status status = NcclCommunicator::Create(world).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ExitCode(status), kExitUnhealthyNode);
    EXPECT_THAT(std::string(status.message()), HasSubstr("no usable GPU"));
  });
}

TEST_F(NoGpuTest, GlooIsChosenAndTheReasonLogged) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, absl::string_view line) {
    if (level == LogLevel::kInfo) lines.emplace_back(line);
  });
  job_.Run([](int rank, const Group& world) {
    const auto comm = Communicator::Create(world);
    ASSERT_TRUE(comm.ok()) << comm.status();
    EXPECT_EQ((*comm)->backend(), "gloo");
  });
  SetLogSink(nullptr);
  EXPECT_THAT(lines,
              AllOf(SizeIs(2), Each(AllOf(HasSubstr("backend gloo: 'nccl' cannot be used here"),
                                          HasSubstr("no usable GPU")))));
}

TEST_F(NoGpuTest, TheDeviceIsTheCpuAndNoGpuMemoryIsInUse) {
  EXPECT_EQ(InferDevice().value_or("?"), "cpu");
  EXPECT_EQ(GpuMemUsage(), 0);
}

TEST_F(NoGpuTest, AGroupOfOneStillWorks) {
  FakeJob alone(1);
  const auto comm = Communicator::Create(alone.world(0));
  ASSERT_TRUE(comm.ok()) << comm.status();
  EXPECT_EQ((*comm)->backend(), "serial");
}

}  // namespace
}  // namespace muster
