// Tests of variables that make NCCL do what would let communicators hang.

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "client/nccl/bootstrap/bootstrap.h"
#include "client/nccl/bootstrap/ids.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class NcclEnvironmentTest : public ::testing::Test {
 protected:
  ~NcclEnvironmentTest() override {
    for (const char* name : {"NCCL_COMM_ID", "NCCL_COMM_BLOCKING", "NCCL_CONF_FILE", "HOME",
                             "FAKE_NCCL_VERSION", "MUSTER_NCCL_RANKS_PER_ID"}) {
      unsetenv(name);
    }
    for (const std::string& path : written_) unlink(path.c_str());
  }

  // Writes a file, which is removed with the test. Returns its path.
  std::string Write(const std::string& name, const std::string& text) {
    written_.push_back(::testing::TempDir() + "/" + name);
    std::ofstream(written_.back()) << text;
    return written_.back();
  }

 private:
  std::vector<std::string> written_;
};

TEST_F(NcclEnvironmentTest, IsFineByDefault) { EXPECT_TRUE(CheckNcclEnvironment().ok()); }

TEST_F(NcclEnvironmentTest, AFixedIdIsRejected) {
  setenv("NCCL_COMM_ID", "10.0.0.1:4242", 1);
  const absl::Status status = CheckNcclEnvironment();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("NCCL_COMM_ID is set ('10.0.0.1:4242')"), HasSubstr("unset it")));
}

TEST_F(NcclEnvironmentTest, BlockingCallsAreRejected) {
  setenv("NCCL_COMM_BLOCKING", "1", 1);
  EXPECT_EQ(CheckNcclEnvironment().code(), absl::StatusCode::kFailedPrecondition);
  setenv("NCCL_COMM_BLOCKING", "0", 1);
  EXPECT_TRUE(CheckNcclEnvironment().ok());
}

TEST_F(NcclEnvironmentTest, TheFileThatSetsAVariableIsNamed) {
  const std::string path = Write("nccl.conf",
                                 "# NCCL_COMM_ID=in a comment\nNCCL_ALGO=Ring\n"
                                 "NCCL_COMM_ID=10.0.0.1:4242\n");
  setenv("NCCL_CONF_FILE", path.c_str(), 1);
  const absl::Status status = CheckNcclEnvironment();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("NCCL_COMM_ID is set ('10.0.0.1:4242') in " + path + ", line 3: "));
}

TEST_F(NcclEnvironmentTest, TheEnvironmentComesBeforeAFile) {
  setenv("NCCL_CONF_FILE", Write("blocking.conf", "NCCL_COMM_BLOCKING=1\n").c_str(), 1);
  EXPECT_FALSE(CheckNcclEnvironment().ok());
  setenv("NCCL_COMM_BLOCKING", "0", 1);
  EXPECT_TRUE(CheckNcclEnvironment().ok());
}

TEST_F(NcclEnvironmentTest, TheUsersFileIsReadUnlessAnotherOneIsNamed) {
  Write(".nccl.conf", "NCCL_COMM_ID=10.0.0.1:4242\n");
  setenv("HOME", ::testing::TempDir().c_str(), 1);
  EXPECT_FALSE(CheckNcclEnvironment().ok());
  setenv("NCCL_CONF_FILE", Write("empty.conf", "").c_str(), 1);
  EXPECT_TRUE(CheckNcclEnvironment().ok());
  setenv("FAKE_NCCL_VERSION", "22203", 1);  // too old for NCCL_CONF_FILE
  EXPECT_FALSE(CheckNcclEnvironment().ok());
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
