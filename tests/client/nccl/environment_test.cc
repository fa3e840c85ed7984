// Variables that make NCCL do what communicators that must not hang cannot bear.

#include <cstdlib>

#include "client/nccl/bootstrap.h"
#include "client/nccl/ids.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NcclEnvironmentTest : public ::testing::Test {
 protected:
  ~NcclEnvironmentTest() override {
    for (const char* name : {"NCCL_COMM_ID", "NCCL_COMM_BLOCKING", "MUSTER_NCCL_RANKS_PER_ID"}) {
      unsetenv(name);
    }
  }
};

TEST_F(NcclEnvironmentTest, IsFineByDefault) { EXPECT_TRUE(CheckNcclEnvironment().ok()); }

TEST_F(NcclEnvironmentTest, AFixedIdIsRefused) {
  setenv("NCCL_COMM_ID", "10.0.0.1:4242", 1);
  const absl::Status status = CheckNcclEnvironment();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("NCCL_COMM_ID is set ('10.0.0.1:4242')"), HasSubstr("unset it")));
}

TEST_F(NcclEnvironmentTest, BlockingCallsAreRefused) {
  setenv("NCCL_COMM_BLOCKING", "1", 1);
  EXPECT_EQ(CheckNcclEnvironment().code(), absl::StatusCode::kFailedPrecondition);
  setenv("NCCL_COMM_BLOCKING", "0", 1);
  EXPECT_TRUE(CheckNcclEnvironment().ok());
}

TEST_F(NcclEnvironmentTest, OneIdServes128Ranks) {
  EXPECT_EQ(RanksPerId(), 128);
  setenv("MUSTER_NCCL_RANKS_PER_ID", "2", 1);
  EXPECT_EQ(RanksPerId(), 2);
  setenv("MUSTER_NCCL_RANKS_PER_ID", "none", 1);
  EXPECT_EQ(RanksPerId(), 128);
}

}  // namespace
}  // namespace muster::internal
