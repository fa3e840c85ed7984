// Tests of the exit codes of programs and launchers, and of where they leave the reason.

#include "muster/exit_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "client/src/base/error_note.h"
#include "muster/job.h"
#include "tests/util/process/process.h"

namespace muster {
namespace {

using muster::testing::ReadFile;
using ::testing::EndsWith;
using ::testing::SizeIs;

TEST(ExitCodeTest, DependsOnTheStatusCode) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::AbortedError("rank 3 was lost")), 75);
  EXPECT_EQ(ExitCode(absl::UnavailableError("the connection to rank 3 broke")), 75);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("no such flag")), 64);
  EXPECT_EQ(ExitCode(absl::InternalError("a bug")), 1);
  EXPECT_EQ(ExitCode(absl::DeadlineExceededError("rank 3 did not come")), 1);
}

TEST(ExitCodeTest, ANotedCodeWins) {
  const absl::Status lost =
      internal::WithExitCode(absl::UnavailableError("no coordinator"), kExitCoordinatorLost);
  EXPECT_EQ(ExitCode(lost), 76);
  EXPECT_EQ(ExitCode(internal::WithExitCode(lost, kExitPeerLost)), 76) << "the first note counts";
  EXPECT_EQ(ExitCode(internal::Reworded(lost, "in other words")), 76);
  EXPECT_EQ(internal::Reworded(lost, "in other words").message(), "in other words");
  EXPECT_TRUE(internal::WithExitCode(absl::OkStatus(), kExitUnhealthyNode).ok());
}

TEST(ExitCodeTest, ABadConfigurationIsPermanent) {
  JobOptions options;
  options.world_size = 2;  // but no coordinator
  EXPECT_EQ(ExitCode(Job::Join(options).status()), 64);
  options.rank = 7;
  EXPECT_EQ(ExitCode(Job::Join(options).status()), 64);
  EXPECT_EQ(ExitCode(Job::Join(absl::FailedPreconditionError("from the environment")).status()),
            64);
}

class TerminationLogTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("MUSTER_TERMINATION_LOG", path_.c_str(), 1); }
  void TearDown() override { unsetenv("MUSTER_TERMINATION_LOG"); }

  const std::string path_ = testing::MakeTempDir() + "/termination-log";
};

TEST_F(TerminationLogTest, HasTheReasonAsOneLine) {
  WriteTerminationReason("an earlier and longer reason");
  WriteTerminationReason("rank 3 was lost:\nkilled");
  EXPECT_EQ(ReadFile(path_), "rank 3 was lost: killed\n");
}

TEST_F(TerminationLogTest, ACleanEndLeavesItAsItIs) {
  WriteTerminationReason("rank 3 was lost");
  WriteTerminationReason(absl::OkStatus().message());
  EXPECT_EQ(ReadFile(path_), "rank 3 was lost\n");
}

TEST_F(TerminationLogTest, IsAsLongAsASchedulerReads) {
  std::string reason;
  while (reason.size() < 5000) reason += "\xc3\xa9";
  WriteTerminationReason("x" + reason);
  const std::string written = ReadFile(path_);
  EXPECT_THAT(written, SizeIs(4096));
  EXPECT_THAT(written, EndsWith("\xc3\xa9\n")) << "no character is cut in two";
}

TEST_F(TerminationLogTest, AnUnwritableFileIsIgnored) {
  setenv("MUSTER_TERMINATION_LOG", (path_ + "/in/a/file").c_str(), 1);
  WriteTerminationReason("lost");
  setenv("MUSTER_TERMINATION_LOG", "", 1);
  WriteTerminationReason("lost");
}

}  // namespace
}  // namespace muster
