// A musterd whose log cannot be written: a terminal is held by Ctrl-S, no process reads the pipe,
// or its reader has gone.

#include <signal.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/service/test_job.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/test_pipe.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

constexpr Exit kOk{false, 0};
constexpr int kMoreThanTheLogHolds = 4500;

class BlockedLogTest : public ::testing::Test {
 protected:
  // Starts the daemon. It listens when this returns.
  void StartDaemon() {
    const std::string port_file = absl::StrCat(MakeTempDir(), "/port");
    daemon_ = Process::Start({"sh", "-c", "exec \"$@\" 2>" + log_.path(), "sh", MusterdPath(),
                              "--listen=127.0.0.1:0", "--port-file", port_file, "--log-level=debug",
                              "--member-grace=100ms"});
    address_ = absl::StrCat("127.0.0.1:", AwaitPort(*daemon_, port_file));
  }

  void ExpectTimeOutsAndGraces() const {
    TestJob job(address_, 2);
    job[0].set_wait_timeout(absl::Milliseconds(50));
    EXPECT_THAT(job[0].Barrier(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("1")));
    job[0].set_wait_timeout(absl::Minutes(1));
    job[1].Disconnect();
    EXPECT_THAT(job[0].Barrier(), StatusIs(absl::StatusCode::kAborted, HasSubstr("rank 1")));
  }

  void ExpectEndsAtSigterm() const {
    daemon_->Signal(SIGTERM);
    EXPECT_EQ(daemon_->Wait(), kOk);
  }

  TestPipe log_;
  std::unique_ptr<Process> daemon_;
  std::string address_;
};

TEST_F(BlockedLogTest, TimeoutsGracesAndShutdownDoNotWaitForIt) {
  log_.Fill();
  StartDaemon();
  ExpectTimeOutsAndGraces();
  ExpectEndsAtSigterm();
}

TEST_F(BlockedLogTest, SurvivesAReaderThatGoesAway) {
  StartDaemon();
  ASSERT_TRUE(log_.ReadUntil("serving at"));
  log_.Close();
  ExpectTimeOutsAndGraces();
  ExpectEndsAtSigterm();
}

TEST_F(BlockedLogTest, CountsDroppedLines) {
  StartDaemon();
  ASSERT_TRUE(log_.ReadUntil("serving at"));
  log_.Fill();
  TestMember member(address_);
  for (int i = 0; i < kMoreThanTheLogHolds; ++i) ASSERT_THAT(member.Attach(), IsOk());
  EXPECT_TRUE(log_.ReadUntil("lines of this log are missing here"));
  ExpectEndsAtSigterm();
}

}  // namespace
}  // namespace muster::testing
